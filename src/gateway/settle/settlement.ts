/** The settlement of a call, as a line of the spool has it. */
import type { CompleteRun, TriedUsage } from '../../capabilities/spend/runs/index.ts';
import type { CalledAt } from '../../kernel/model-hosts.ts';
import type { Mark } from '../../ledger/posting.ts';
import type { CallAttribution } from '../attribution-headers.ts';

export interface Settlement {
  readonly orgId: string;
  readonly keyId: string;
  /** Null for a call that was allowed while the ledger was unavailable: its run gets an id when it is created. */
  readonly runId: string | null;
  /** True if the run is stored already, and is completed. */
  readonly isStored: boolean;
  readonly decisionId: string;
  readonly model: string;
  readonly attribution: CallAttribution;
  readonly depth: number;
  readonly admittedAtMs: number;
  /** The price of the hold; null: none. Absent in files of earlier releases. */
  readonly priceVersion?: string | null;
  /** The provider that has served the call, and where its model was called. Absent in files of earlier releases. */
  readonly servedBy?: string;
  readonly calledAt?: CalledAt;
  readonly body: CompleteRun & TriedUsage;
  readonly marks: readonly Mark[];
  /** The provider's id of the response; absent if it sent none. */
  readonly responseId?: string;
  /** Set for a failed call that cost nothing: its idempotency key can be used again. */
  readonly releasesKey?: true;
  /** The cost of tools that the price does not have; absent if there is none. */
  readonly toolUsd?: string;
}

/** Returns undefined if the line is damaged. */
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
