/** Decisions that the edge gave while the ledger was unavailable. */
export interface FailOpenLookup {
  /** Imports those of these decisions of the org that this process stores and has not imported into the ledger yet. */
  importNow(orgId: string, decisionIds: readonly string[]): Promise<void>;
  /**
   * Returns the time of a decision that any process gave to this org fail-open; undefined if its id does not prove that, or if it is
   * more than six days old.
   */
  decidedAtMs(orgId: string, decisionId: string): number | undefined;
}
