/** Other regions, as the pipeline sees them: requests that they have sent here, and requests that belong there. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StreamedReply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';

/** What a region that sends a request on vouches for, signed. A request that carries it is never sent on again. */
export const forwardHeader = 'x-svc-region-forward';

export interface Sent {
  /** The region that has sent it. */
  readonly from: string;
  /** Of the client, as that region saw it. */
  readonly address: string;
  readonly traceId: string;
}

export interface ToSend {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
  readonly traceId: string;
}

export interface Regions {
  /** Undefined: no other region has sent it, or none that can be believed. */
  received(request: RequestHead): Sent | undefined;
  /** Sends a request to its home region, its body as it comes, and gives what is answered there, as it comes. */
  forward(homeRegion: string, toSend: ToSend): Promise<StreamedReply>;
}
