/** The pipeline's interface to other regions: requests that they forwarded here, and requests to forward to them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StreamedReply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';
import type { Credential } from '../routes/access.ts';

/** Header with the signed statement of the region that forwards a request. A request that has it is never forwarded again. */
export const forwardHeader = 'x-svc-region-forward';

export interface Sent {
  /** The region that forwarded the request. */
  readonly from: string;
  /** The client's address, as that region saw it. */
  readonly address: string;
  readonly traceId: string;
}

export interface ToSend {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
  readonly traceId: string;
  /** The credential of the request, if it was found here. */
  readonly credential?: Credential | undefined;
}

export interface Regions {
  /** Returns undefined unless another region forwarded the request and its signature is valid. */
  received(request: RequestHead): Sent | undefined;
  /** Forwards a request to its home region. Both the request body and the response are streamed. */
  forward(homeRegion: string, toSend: ToSend): Promise<StreamedReply>;
}
