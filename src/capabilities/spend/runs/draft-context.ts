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

/** The start of a gateway call. Its hold has the number of its run, and is posted if it expires unsettled. */
export interface StartOfCall {
  readonly fit: Fit | undefined;
  /** Maximum cost of tools without a price. */
  readonly toolNanos: bigint;
  /** The place whose price is held; undefined: the one that the body states. */
  readonly calledAt: CalledAt | undefined;
  /** The name whose price is held; undefined: the model. */
  readonly pricedName: string | undefined;
}

/** The end of a gateway call, or of a call that telemetry reports. */
export interface EndOfCall {
  /** Marks in addition to those of the ledger. */
  readonly marks: readonly Mark[];
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
  /** Set if the call cost nothing, so that it can be repeated with its idempotency key. */
  readonly releasesKey?: true | undefined;
  /** Cost of tools that have no rate in the price. */
  readonly toolNanos?: bigint;
  /** The provider that served the call; undefined: that of its hold. */
  readonly servedBy?: string | undefined;
  /** The place of the call; undefined: the one that the hold and the body state. */
  readonly calledAt?: CalledAt | undefined;
  /** The name whose price applies; undefined: the model that served the call. */
  readonly pricedName?: string | undefined;
}
