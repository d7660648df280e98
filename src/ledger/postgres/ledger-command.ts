/** Commands to the ledger of an org on PostgreSQL, and their results. */
import type { Denial } from '../../kernel/denial.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldIncrease,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';

export type LedgerCommand<Run> =
  | { readonly kind: 'hold'; readonly request: HoldRequest }
  | { readonly kind: 'preview'; readonly previews: readonly AdmissionPreview[] }
  | { readonly kind: 'import'; readonly request: HoldImport }
  | { readonly kind: 'post'; readonly group: PostingGroup<Run> }
  | { readonly kind: 'void'; readonly holdId: string }
  | { readonly kind: 'extend'; readonly holdId: string; readonly seconds: number }
  | { readonly kind: 'increase'; readonly holdId: string; readonly increase: HoldIncrease }
  | { readonly kind: 'expire'; readonly holds: readonly DueHold[] };

/** A hold that was found to be due. */
export interface DueHold {
  readonly id: string;
  /** The expiry of a hold whose lifetime has elapsed although the clock has not reached its expiry; see `ElapsedLifetimes`. */
  readonly elapsedExpiryMs?: number;
}

export type LedgerResult<Run> =
  | HoldResult
  | (Denial | undefined)[]
  | GroupResult<Run>
  | ImportedHold[]
  | HoldChange
  | IncreaseResult
  | undefined;

/** Commands of one org. */
export interface OrgCommands<Run> {
  readonly orgId: string;
  readonly commands: readonly LedgerCommand<Run>[];
}

/** Returns the number of holds and runs in a command. */
export function sizeOf<Run>(command: LedgerCommand<Run>): number {
  switch (command.kind) {
    case 'post':
      return command.group.postings.length;
    case 'preview':
      return command.previews.length;
    case 'import':
      return command.request.holds.length;
    case 'expire':
      return command.holds.length;
    default:
      return 1;
  }
}

/** Returns the ids of the holds that a command refers to. */
export function holdIdsOf<Run>(command: LedgerCommand<Run>): readonly string[] {
  switch (command.kind) {
    case 'hold':
    case 'preview':
      return [];
    case 'post':
      return command.group.postings.flatMap(({ decisionId }) => decisionId ?? []);
    case 'expire':
      return command.holds.map(({ id }) => id);
    case 'import':
      return command.request.holds.map(({ id }) => id);
    default:
      return [command.holdId];
  }
}

/** Returns the digests of the idempotency keys of a command. */
export function keyDigestsOf<Run>(command: LedgerCommand<Run>): readonly string[] {
  if (command.kind === 'import') {
    return command.request.holds.flatMap(({ idempotency }) => idempotency?.digest ?? []);
  }
  return command.kind === 'hold' && command.request.key !== undefined ? [command.request.key.digest] : [];
}
