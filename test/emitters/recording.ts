/** Spans that an emitter has sent about calls, and what the provider has billed for these calls. */
import type { SpanShape } from '../support/otlp.ts';

export interface BilledCall {
  readonly format: 'chat' | 'responses' | 'embeddings' | 'messages' | 'generate_content';
  readonly model: string;
  /** As in the response. */
  readonly usage: Readonly<Record<string, unknown>>;
  readonly serviceTier?: string;
}

/** Times are milliseconds since the first span. Ids are numbered in the order of their appearance. */
export interface RecordedSpan extends SpanShape {
  readonly scope: string;
  readonly name: string;
}

export interface Recording {
  /** The package that emits the spans, with its version. */
  readonly emitter: string;
  /** The other packages that were installed for it. */
  readonly packages: readonly string[];
  readonly billed: readonly BilledCall[];
  /** In the order in which they ended. */
  readonly spans: readonly RecordedSpan[];
}
