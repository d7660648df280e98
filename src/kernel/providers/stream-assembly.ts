/** Puts the events of a stream together as the response that the provider would have sent without streaming. */
import type { Fields } from './fields.ts';

export interface StreamAssembly {
  /** Reads the data of an event. */
  read(event: Fields): void;
  result(): AssembledStream;
}

export type AssembledStream =
  | { readonly kind: 'response'; readonly body: object }
  /** The provider has ended the stream with an error. */
  | { readonly kind: 'error'; readonly status: number; readonly body: object }
  /** The stream has no end. */
  | { readonly kind: 'unended' }
  /** The stream has a part whose place in the response is not known. */
  | { readonly kind: 'unknown'; readonly part: string };

export interface AssemblyFormat {
  /** Returns false for a request whose stream has another content than its plain response. */
  mayAssemble(body: Fields): boolean;
  start(): StreamAssembly;
}

/** More answers, calls of tools or blocks than any response has. Each takes much more memory than its bytes in the stream. */
export const partsMax = 10_000;

/** Returns the status of an error of OpenAI, which an event does not have. */
export function openAiErrorStatus({ type, code }: Fields): number {
  if (code === 'rate_limit_exceeded' || code === 'insufficient_quota') {
    return 429;
  }
  return type === 'invalid_request_error' || code === 'invalid_prompt' ? 400 : 500;
}
