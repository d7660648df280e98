/** The options of calls that `wrap` meters. */

export interface MeterOptions {
  /** Maximum output of a call that sets none. */
  readonly defaultMaxOutputTokens: number;
  /** Input tokens that are assumed for content that a request only refers to. */
  readonly unseenInputTokens: number;
  /** Replaces the estimate, such as by a tokenizer. */
  readonly estimateInputTokens?: (body: Readonly<Record<string, unknown>>) => number;
  /** What to do if a limit does not allow the whole call: deny it, or lower its maximum output to what is allowed. */
  readonly onLimit: 'refuse' | 'fit';
  /** What to do if the caller aborts: read the rest for its exact usage, or close the connection and settle an upper bound. */
  readonly onAbort: 'drain' | 'close';
}
