/** A call to a model, as telemetry reports it. */
import type { Labels } from './attributes.ts';

export const conventions = [
  'gen_ai',
  'openinference',
  'openllmetry',
  'ai_sdk',
  'langfuse',
  'claude_code',
  'codex',
] as const;
export type Convention = (typeof conventions)[number];

export interface ModelCall {
  readonly convention: Convention;
  /** The library that reported the call: the scope of its span or event. */
  readonly instrumentation: string;
  /** Identifies the call in the org: a span, or an event. */
  readonly externalId: string;
  readonly chainId: string;
  /** The span of the call and the one around it; empty for an event. */
  readonly spanKey: string;
  readonly parentKey: string;
  /** A call for embeddings is no repetition of a chat around it. */
  readonly isEmbedding: boolean;
  readonly requestModel: string | undefined;
  readonly responseModel: string | undefined;
  readonly responseId: string | undefined;
  /** The session of a coding agent, which is the chain of its calls through the gateway. */
  readonly session: string | undefined;
  /** True if the emitter says where the call was recorded, or that it went to this service. */
  readonly isRecordedElsewhere: boolean;
  readonly isFailed: boolean;
  readonly startMs: number;
  readonly endMs: number;
  readonly usage: CallTokens;
  /** The cost in USD that the emitter has computed, if any. */
  readonly statedCost: number | undefined;
  readonly serviceTier: string | undefined;
  readonly labels: CallLabels;
}

export interface CallTokens {
  /** Includes `cached` and `cacheWrite`. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a lifetime of an hour. */
  readonly cacheWrite1h: number;
  /** Includes `reasoning`. */
  readonly output: number;
  /** Excludes audio. */
  readonly reasoning: number;
  /** Excludes audio that is `cached`. */
  readonly audioInput: number;
  readonly audioOutput: number;
  /** Excludes images that are `cached`. */
  readonly imageInput: number;
  /** The part of `cached` that images have. */
  readonly cachedImage: number;
  /** False if the emitter reports no counts, zeros, or values that are not counts. */
  readonly isKnown: boolean;
}

export interface CallLabels extends Labels {
  readonly tags: Readonly<Record<string, string>>;
}
