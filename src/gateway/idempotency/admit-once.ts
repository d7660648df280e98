/**
 * Admits a call with an `Idempotency-Key`, unless a call with this key was made or is in progress. The error then names the run of
 * that call. Its response cannot be returned again, because content is not stored.
 */
import { type KeyedCall, KeyInUse } from '../../capabilities/spend/runs/index.ts';
import { holdIdOfCall } from '../../ledger/holds/hold.ts';
import type { Replay, RequestKey } from '../../ledger/holds/hold-keys.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { FailOpenAdmission } from '../admit-call.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Settlements } from '../settle/settlements.ts';

export interface AdmitOnceDependencies {
  readonly ledger: Pick<Ledger, 'replay' | 'reads'>;
  readonly settlements: Pick<Settlements, 'post'>;
  readonly failOpen: FailOpenAdmission | undefined;
}

/** Admits a call with an idempotency key. Throws the error of the gateway if the key was used before. */
export async function admitOnce<Admitted>(
  deps: AdmitOnceDependencies,
  orgId: string,
  key: RequestKey,
  admit: () => Promise<Admitted>,
): Promise<Admitted> {
  // Checked before the admission, so that no limit denies a retry and no rate counts it.
  await requireUnused(deps, orgId, key);
  try {
    return await admit();
  } catch (error) {
    if (!(error instanceof KeyInUse)) {
      throw error;
    }
    await requireUnused(deps, orgId, key);
    // The other call has failed in the meantime and has released the key.
    throw inProgress(null);
  }
}

async function requireUnused(deps: AdmitOnceDependencies, orgId: string, key: RequestKey): Promise<void> {
  const unposted = await deps.failOpen?.replay(orgId, key);
  if (unposted !== undefined) {
    throw inProgress(firstCallOf(unposted).runId);
  }
  try {
    await requireUnusedInLedger(deps, orgId, key);
  } catch (error) {
    // In fail-open mode, a call is allowed without this check while the ledger is unavailable.
    if (deps.failOpen?.isOutage(error) !== true) {
      throw error;
    }
  }
}

async function requireUnusedInLedger(
  { ledger, settlements }: AdmitOnceDependencies,
  orgId: string,
  key: RequestKey,
): Promise<void> {
  const used = await ledger.replay(orgId, key);
  if (used === undefined) {
    return;
  }
  const { runId, holdId } = firstCallOf(used);
  // An ended call keeps its hold until it is posted, so pending settlements are posted first.
  await settlements.post(orgId);
  if (holdId !== undefined && (await ledger.reads.findHold(orgId, holdId)) !== undefined) {
    throw inProgress(runId);
  }
  // The first call may have failed at no cost, and released the key.
  if ((await ledger.replay(orgId, key)) !== undefined) {
    throw new GatewayError(
      409,
      'idempotency_key_used',
      'The call with this Idempotency-Key was made, and is not made again. Its response is not stored and cannot be returned. To make another call, use another key.',
      { run_id: runId },
    );
  }
}

/** Returns the ids of the call that used the key. Throws if that call had another body. */
function firstCallOf(used: Replay): {
  readonly runId: string | null;
  readonly holdId: string | undefined;
} {
  switch (used.kind) {
    case 'key_conflict':
      throw new GatewayError(
        409,
        'idempotency_key_conflict',
        'This Idempotency-Key was used with a different body. Use another key.',
      );
    case 'response_erased':
      return { runId: null, holdId: undefined };
    case 'replayed': {
      const call = JSON.parse(used.response) as KeyedCall | { readonly decision_id: string };
      // A call that was allowed while the ledger was unavailable is identified by its decision.
      return 'run_id' in call
        ? { runId: call.run_id, holdId: holdIdOfCall(call.run_id) }
        : { runId: call.decision_id, holdId: call.decision_id };
    }
  }
}

function inProgress(runId: string | null): GatewayError {
  return new GatewayError(
    409,
    'idempotency_key_processing',
    'A call with this Idempotency-Key is in progress. Nothing was sent again.',
    { run_id: runId },
  );
}
