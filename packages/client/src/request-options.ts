/** The types of a request that generated code refers to. */

export interface RequestOptions {
  /** Sent with every attempt, so that a retry has no second effect. Default: a random one for each write. */
  readonly idempotencyKey?: string;
  /** Time for one attempt. Default: `requestTimeoutMs` of the client. */
  readonly timeoutMs?: number;
  /** Number of further attempts. Default: `maxRetries` of the client. */
  readonly maxRetries?: number;
  readonly signal?: AbortSignal;
}

/**
 * A list. `await` returns its first page; `for await` iterates over the rows of all pages.
 *
 *   for await (const run of purser.runs.list({ model: 'gpt-4o' })) { … }
 */
export interface ListRequest<Row, Page> extends PromiseLike<Page>, AsyncIterable<Row> {
  /** Iterates over the pages. */
  pages(): AsyncIterable<Page>;
}
