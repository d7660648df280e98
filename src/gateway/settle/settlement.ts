/** The settlement of a call in the form of a spool line. */
import type { CompleteRun, TriedUsage } from '../../capabilities/spend/runs/index.ts';
import type { CalledAt } from '../../kernel/model-hosts.ts';
import type { Mark } from '../../ledger/posting.ts';
import type { CallAttribution } from '../attribution-headers.ts';

export interface Settlement {
  readonly orgId: string;
  readonly keyId: string;
  /** Null for a call that was allowed while the ledger was unavailable. Its run gets an id when it is created. */
  readonly runId: string | null;
  /** True if the run exists already, so that the settlement completes it. */
  readonly isStored: boolean;
  readonly decisionId: string;
  readonly model: string;
  readonly attribution: CallAttribution;
  readonly depth: number;
  readonly admittedAtMs: number;
  /** Price of the hold; null if there was none. Absent in files of earlier releases. */
  readonly priceVersion?: string | null;
  /** The provider that served the call, and the place where the model was called. Absent in files of earlier releases. */
  readonly servedBy?: string;
  readonly calledAt?: CalledAt;
  /** The name whose price applies; absent: the model that served the call. */
  readonly pricedName?: string;
  readonly body: CompleteRun & TriedUsage;
  readonly marks: readonly Mark[];
  /** The provider's id of the response; absent if it sent none. */
  readonly responseId?: string;
  /** Set for a failed call that cost nothing, so that its idempotency key can be used again. */
  readonly releasesKey?: true;
  /** Cost of tools that have no rate in the price; absent if there are none. */
  readonly toolUsd?: string;
}

/** Parses a line of the spool; undefined if it is damaged. */
export function parseSettlement(line: string): Settlement | undefined {
  try {
    const settlement = JSON.parse(line) as Partial<Settlement>;
    const isWhole =
      typeof settlement.orgId === 'string' &&
      typeof settlement.keyId === 'string' &&
      typeof settlement.decisionId === 'string' &&
      typeof settlement.model === 'string' &&
      typeof settlement.admittedAtMs === 'number' &&
      typeof settlement.body === 'object' &&
      Array.isArray(settlement.marks);
    return isWhole ? (settlement as Settlement) : undefined;
  } catch {
    return undefined;
  }
}
