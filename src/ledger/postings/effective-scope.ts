/** Resolves the scope and time of a posting. Those of its hold take precedence. */
import {
  type AttributionLabel,
  attributionLabels,
  labelDimensions,
  runDimensions,
} from '../../contract/run-dimensions.ts';
import type { Surface } from '../../kernel/admission.ts';
import type { Scope } from '../../kernel/limits.ts';
import { isErased } from '../holds/customer-pseudonyms.ts';
import { type Hold, restoredHold } from '../holds/hold.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posting } from '../posting.ts';
import { type ExistingRecords, recordKey } from './existing-records.ts';

export function effectiveScope(
  orgState: OrgLedgerState,
  posting: Posting,
  { ends }: ExistingRecords,
  nowMs: number,
): { scope: Scope; atMs: number } {
  const hold = holdOf(orgState, posting) ?? endedHold(ends, orgState.orgId, posting);
  return {
    scope: settledScope(hold, posting),
    atMs: hold?.admittedAtMs ?? requestedAtMs(posting, nowMs),
  };
}

/** Returns the surface that determines the counters of a posting. */
export function surfaceOf({ kind }: Posting): Surface {
  switch (kind) {
    case 'open':
      return 'run';
    case 'record':
      return 'record';
    default:
      return 'charge';
  }
}

/** Returns the scope of the posting. Fields without a value get that of the calling key. */
export function attributedScope({ scope, attribution }: Posting): Scope {
  if (attribution === undefined) {
    return scope;
  }
  const tags = { ...attribution.tags, ...scope.tags };
  const labels = attributionLabels.map((label) => [label, scope[label] ?? attribution[label] ?? null]);
  return {
    ...scope,
    ...(Object.fromEntries(labels) as Pick<Scope, AttributionLabel>),
    tags: Object.keys(tags).length === 0 ? null : tags,
  };
}

/** Returns the time of a charge whose hold is not known. */
export function requestedAtMs({ failOpenAtMs, atMs }: Posting, nowMs: number): number {
  return failOpenAtMs ?? atMs ?? nowMs;
}

function holdOf(orgState: OrgLedgerState, { kind, decisionId }: Posting): Hold | undefined {
  return decisionId === null || kind === 'open' ? undefined : orgState.holds.get(decisionId)?.hold;
}

function endedHold(
  ends: ExistingRecords['ends'],
  orgId: string,
  { kind, decisionId }: Posting,
): Hold | undefined {
  const end = decisionId === null || kind === 'open' ? undefined : ends.get(recordKey(orgId, decisionId));
  return end === undefined ? undefined : restoredHold(end.body);
}

/**
 * Returns the scope in which a posting is charged. Without a hold, all fields come from the run or the key that posts it. With a
 * hold, the fields come from the hold. A field that is `settledBy: hold_or_run` and empty in the hold comes from the run or the
 * key, and so does a tag that the hold does not have. If both have a tag, the hold's value counts, because its limits were checked.
 * The provider that served a call of this service counts instead of that of its hold.
 */
export function settledScope(hold: Hold | undefined, posting: Posting): Scope {
  const posted = attributedScope(posting);
  const { servedBy } = posting;
  if (hold === undefined) {
    return servedBy === undefined ? posted : { ...posted, provider: servedBy };
  }
  const { scope: held } = hold;
  const settled = { ...held, tags: settledTags(held, posted) };
  for (const field of fixedIfPresent) {
    settled[field] ??= posted[field];
  }
  settled.provider = servedBy ?? settled.provider;
  return settled;
}

function settledTags(held: Scope, posted: Scope): Scope['tags'] {
  // Tags of the run may identify the customer, who was erased after the decision.
  if (posted.tags === null || isErased(held.customer_id)) {
    return held.tags;
  }
  return held.tags === null ? posted.tags : { ...posted.tags, ...held.tags };
}

const fixedByHold = labelDimensions.filter((name) => runDimensions[name].settledBy === 'hold');
const fixedIfPresent = labelDimensions.filter((name) => runDimensions[name].settledBy === 'hold_or_run');

/**
 * Returns the first field in which a run contradicts the decision that it names. The model may differ, because providers report a
 * more exact name than the requested one, or serve another model; the run counts as the requested model. The value of a tag may
 * differ too.
 */
export function contradiction({ scope: held }: Hold, { scope: posted }: Posting): string | undefined {
  return (
    fixedByHold.find(
      (field) =>
        posted[field] !== null &&
        posted[field] !== held[field] &&
        // The caller does not know that the customer was erased in the meantime, and the cost must be posted anyway.
        !(field === 'customer_id' && isErased(held.customer_id)),
    ) ??
    fixedIfPresent.find(
      (field) =>
        posted[field] !== null &&
        held[field] !== null &&
        posted[field] !== held[field] &&
        !(field === 'chain_id' && isErased(held.customer_id)),
    )
  );
}
