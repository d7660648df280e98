/** Decisions that the edge gave while the ledger was unavailable. */
export interface FailOpenLookup {
  /** Imports the given decisions of the org that this process stores and has not imported into the ledger yet. */
  importNow(orgId: string, decisionIds: readonly string[]): Promise<void>;
  /**
   * Returns the time of a decision that any process gave fail-open to this org. Returns undefined if the id does not prove that, or
   * if the decision is more than six days old.
   */
  decidedAtMs(orgId: string, decisionId: string): number | undefined;
}
