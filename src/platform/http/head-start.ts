/** What is at hand already of a request that comes to the pipeline from the lane. */
import type { IncomingMessage } from 'node:http';

export interface HeadStart {
  /** All of it. Plain requests have no encoding. */
  readonly body: Buffer;
  /** What its handler would ask for, where that was asked. */
  readonly outcome: Promise<unknown> | undefined;
}

const given = new WeakMap<IncomingMessage, HeadStart>();

export function giveHeadStart(request: IncomingMessage, headStart: HeadStart): void {
  given.set(request, headStart);
}

export function headStartOf(request: IncomingMessage): HeadStart | undefined {
  return given.get(request);
}
