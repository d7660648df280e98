/** State and services that all calls of the gateway share. */

import type { Connections } from '../capabilities/integration/connections/index.ts';
import type { CallPrices } from '../capabilities/spend/unpriced-models/index.ts';
import type { OutputHistory } from '../growing-holds/output-history.ts';
import type { PaceHistory } from '../growing-holds/pace-history.ts';
import type { PacedHolds } from '../growing-holds/paced-holds.ts';
import type { SlicedWork } from '../platform/sliced-work.ts';
import type { PartialStreams } from './assemble/partial-streams.ts';
import type { TokenRatios } from './body/token-ratios.ts';
import type { CallStatus } from './call-status.ts';
import type { ProviderClient } from './forward/provider-client.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { HoldCoverage, IncreaseCallHold } from './hold-coverage.ts';
import type { HoldingCall } from './holding-calls.ts';
import type { Deployments } from './learned/deployments.ts';
import type { PaceEvents } from './pace/pace-events.ts';
import type { Settlements } from './settle/settlements.ts';
import type { StoredResponses } from './stored-responses.ts';
import type { Turns } from './turns.ts';
import type { DurationHistory } from './usage/duration-history.ts';

export interface GatewayContext {
  readonly client: ProviderClient;
  readonly connections: Connections;
  readonly settlements: Settlements;
  readonly ratios: TokenRatios;
  readonly outputs: OutputHistory;
  readonly durations: DurationHistory;
  readonly prices: Pick<CallPrices, 'find'>;
  readonly deployments: Pick<Deployments, 'learn'>;
  readonly metrics: GatewayMetrics;
  readonly inProgress: Set<OngoingCall>;
  readonly drains: Drains;
  /** Maximum size of responses that are not streamed. */
  readonly responseBytesMax: number;
  readonly coverage: HoldCoverage;
  /** Spreads calls that start or end while others are streaming. */
  readonly turns: Turns;
  /** Runs work on large bodies in slices. */
  readonly work: SlicedWork;
  readonly increaseHold: IncreaseCallHold;
  readonly pacedHolds: PacedHolds;
  readonly paceEvents: PaceEvents;
  readonly paces: PaceHistory;
  readonly partialStreams: PartialStreams;
  readonly storedResponses: StoredResponses;
}

/** A call in progress. */
export interface OngoingCall {
  status(): CallStatus;
  /** Returns the amount that the call holds in a counter, and when it is expected to end; undefined if it holds none. */
  holdingIn(orgId: string, counterKey: string): HoldingCall | undefined;
  /** Ends the call when the process stops. Resolves once it is settled or its settlement is on disk. */
  cut(): Promise<void>;
  /** Resolves once the call is settled or its settlement is on disk. */
  settled(): Promise<void>;
}

/** Places for responses that are read to the end after their client has left. */
export class Drains {
  readonly #max: number;
  readonly #holders = new Set<object>();
  #isClosed = false;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#holders.size;
  }

  tryTake(holder: object): boolean {
    if (this.#isClosed || this.#holders.size >= this.#max) {
      return false;
    }
    this.#holders.add(holder);
    return true;
  }

  has(holder: object): boolean {
    return this.#holders.has(holder);
  }

  release(holder: object): void {
    this.#holders.delete(holder);
  }

  /** Closes all places when the process stops: no further response is drained. */
  close(): void {
    this.#isClosed = true;
  }
}
