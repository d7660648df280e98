/** Inputs of a run's stages in addition to its body. */
import type { AttributionValues } from '../../../contract/attribution.ts';
import type { Fit } from '../../../kernel/fit.ts';
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import type { Mark } from '../../../ledger/posting.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { ParentRow } from './queries.ts';
import type { CreateRun } from './schema.ts';

/** Shared by the runs of a request. */
export interface DraftContext {
  readonly ids: Ids;
  readonly keyId: string;
  readonly now: Date;
  /** True for a backfill, which is posted without admission checks. */
  readonly record: boolean;
  /** True if the org has chain limits. A run without a chain then starts one. */
  readonly chained: boolean;
  parentOf(runId: string): ParentRow | undefined;
  contentDigest(body: CreateRun): string;
  /** Values of the calling key, for fields that the run leaves out. */
  readonly attribution?: AttributionValues | undefined;
  /** Returns the time of a fail-open decision; undefined for any other id. */
  failOpenAtMs(decisionId: string): number | undefined;
  /** Set for the start of a gateway call. */
  readonly started?: StartOfCall | undefined;
  /** Set for the end of a gateway call whose run is not stored yet. */
  readonly admitted?: { readonly runId: string; readonly startedAt: Date } | undefined;
}

/** The hold of the call has the number of its run, and is posted if it expires unsettled. */
export interface StartOfCall {
  readonly fit: Fit | undefined;
  /** The most that tools without a price may cost. */
  readonly toolNanos: bigint;
  /** Where the model is called at the price that is held; undefined: as the body says. */
  readonly calledAt: CalledAt | undefined;
}

/** The end of a call that this service made, or that telemetry reports. */
export interface EndOfCall {
  /** Set in addition to those of the ledger. */
  readonly marks: readonly Mark[];
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
  /** Set if the call cost nothing and may be repeated with its idempotency key. */
  readonly releasesKey?: true | undefined;
  /** The cost of tools that the price does not have. */
  readonly toolNanos?: bigint;
  /** The provider that has served the call; undefined: that of its hold. */
  readonly servedBy?: string | undefined;
  /** Where the model was called; undefined: as the hold and the body say. */
  readonly calledAt?: CalledAt | undefined;
}
