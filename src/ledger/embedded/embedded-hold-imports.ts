/** Imports holds on the embedded engine: decisions that were made elsewhere, for example while the ledger was unavailable. */
import { applicableCounters } from '../../kernel/admission.ts';
import type { Hold } from '../holds/hold.ts';
import { addImportedHold, type HoldImport, type ImportedHold } from '../holds/hold-import.ts';
import { findStoredKey, storeKeys } from '../holds/hold-keys.ts';
import { orgKeyId } from '../holds/take-hold.ts';
import { findEnds } from '../postings/ledger-writes.ts';
import { addCounters } from '../postings/posting-batch.ts';
import type { EmbeddedState } from './embedded-state.ts';

export async function importHolds(
  state: EmbeddedState,
  { holds, record }: HoldImport,
): Promise<ImportedHold[]> {
  const results: ImportedHold[] = [];
  for (const hold of holds) {
    results.push(await importWithKey(state, hold));
  }
  const added = results.filter((one) => one.kind === 'added');
  if (record !== undefined && added.length > 0) {
    await state.db.transaction((tx) => record(tx, added));
  }
  return results;
}

async function importWithKey(state: EmbeddedState, imported: Hold): Promise<ImportedHold> {
  const { db, states, keysInFlight, time } = state;
  const { orgId, idempotency: key } = imported;
  if (key === null) {
    return importHold(state, imported);
  }
  const keyId = orgKeyId(orgId, key.digest);
  return keysInFlight.serialize(keyId, async () => {
    const open = states.findByKey(keyId);
    const stored = await findStoredKey(db, orgId, key.digest, time.now());
    // If the key was used before, it belongs to the earlier decision, and this hold is imported without a key.
    return importHold(
      state,
      open === undefined && stored === undefined ? imported : { ...imported, idempotency: null },
    );
  });
}

async function importHold({ db, states, durable }: EmbeddedState, imported: Hold): Promise<ImportedHold> {
  const { orgId, id, scope, admittedAtMs, surface } = imported;
  const orgState = await states.open(orgId);
  for (;;) {
    // There must be no `await` between this query and adding the hold, because another import of the decision may be settled at any
    // time.
    const ended = await findEnds(db, [orgId], [id]);
    if (orgState.holds.has(id)) {
      return { kind: 'existing' };
    }
    if (ended.length > 0) {
      // A run settled the decision before its import, so the end was stored without the key.
      await storeKeys(db, [imported]);
      return { kind: 'existing' };
    }
    const applicable = applicableCounters(orgState.limits, scope, admittedAtMs, surface);
    const missing = orgState.missingCounters(applicable.counters, scope);
    if (missing.length === 0) {
      const { open, added } = addImportedHold(orgState, imported, applicable);
      states.track(open);
      await durable.take(open);
      return { kind: 'added', ...added };
    }
    await addCounters(db, orgState, missing);
  }
}
