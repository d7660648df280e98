/** The output of a stream that its hold covers, if the hold grows. */
export interface StreamCoverage {
  /**
   * Called after each chunk. Returns undefined if the output is covered. Otherwise returns a promise that resolves to false if it
   * cannot be covered.
   */
  readonly cover: () => Promise<boolean> | undefined;
  /** Returns the output that the hold covers now. */
  heldTokens(): number;
}
