/** The stage that places a run: determines its chain, scope and decision, and the time of its charge. */
import type { AttributionValues } from '../../../contract/attribution.ts';
import type { Scope } from '../../../kernel/limits.ts';
import { holdIdOfCall } from '../../../ledger/holds/hold.ts';
import { scopeOf, sharedScope } from '../../../ledger/scope.ts';
import type { DraftContext } from './draft-context.ts';
import type { ParentRow, RunRow } from './queries.ts';
import type { CreateRun } from './schema.ts';

/** The fields of a posting that say where and when it counts. */
export interface RunPlace {
  readonly runId: string;
  readonly scope: Scope;
  readonly attribution: AttributionValues | undefined;
  readonly depth: number;
  readonly decisionId: string | null;
  readonly failOpenAtMs: number | undefined;
  readonly atMs: number | null;
}

type ScopeContext = Omit<DraftContext, 'now' | 'contentDigest'>;

export function placeRun(body: CreateRun, startedAt: Date, context: ScopeContext): RunPlace {
  const { decision_id: settled, parent_run_id: parentId } = body;
  const runId = context.admitted?.runId ?? context.ids.next('run');
  const parent = parentId === undefined ? undefined : context.parentOf(parentId);
  const chainId = body.chain_id ?? chainOf(body, parent, runId, context);
  // A settlement has the scope of its decision, so values of the key must not contradict it.
  const defaults = settled === undefined ? context.attribution : undefined;
  return {
    runId,
    scope: sharedScope(scopeOf(body, context.keyId, chainId, defaults)),
    attribution: settled === undefined ? undefined : context.attribution,
    depth: parent === undefined ? 1 : parent.depth + 1,
    decisionId: settled ?? ownDecision(body, runId, context),
    failOpenAtMs: settled === undefined ? undefined : context.failOpenAtMs(settled),
    atMs: context.record ? startedAt.getTime() : null,
  };
}

/** Returns the chain of the parent, or the chain that the run starts. */
function chainOf(
  { status }: CreateRun,
  parent: ParentRow | undefined,
  runId: string,
  { chained }: ScopeContext,
): string | null {
  if (parent !== undefined) {
    return parent.chain_id ?? parent.id;
  }
  return status === 'running' || chained ? runId : null;
}

/** Returns the id of the hold that a run in progress opens. */
function ownDecision({ status }: CreateRun, runId: string, { ids, started }: ScopeContext): string | null {
  if (status !== 'running') {
    return null;
  }
  return started === undefined ? ids.next('dec') : holdIdOfCall(runId);
}

/** Returns the place of a stored run. */
export function placeOfStored(
  run: RunRow,
  decisionId: string | null,
  failOpenAtMs: number | undefined,
  atMs = run.charged_at.getTime(),
): RunPlace {
  return {
    runId: run.id,
    scope: scopeOf(run, run.key_id, run.chain_id),
    attribution: undefined,
    depth: run.depth,
    decisionId,
    failOpenAtMs,
    atMs,
  };
}
