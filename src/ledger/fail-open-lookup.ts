/** Decisions that the edge gave while the ledger was unavailable. */
export interface FailOpenLookup {
  /** Imports those of these decisions that this process has not imported into the ledger yet. */
  importNow(orgId: string, decisionIds: readonly string[]): Promise<void>;
  /** Returns the time of a decision that was given to this org fail-open; undefined if its id does not prove that. */
  decidedAtMs(orgId: string, decisionId: string): number | undefined;
}
