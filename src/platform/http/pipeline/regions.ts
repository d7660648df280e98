/** The pipeline's interface to other regions: requests that they forwarded here, and requests to forward to them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from '../../../contract/api-error.ts';
import type { BodyTrailer } from '../message/body.ts';
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
  /** Verifies the end of the body; undefined if the request has no body. */
  readonly bodyTrailer: BodyTrailer | undefined;
  /** Throws unless this is the first request with its mark. */
  acceptOnce(): Promise<void>;
}

/** A request whose mark is not valid: forged, too old, or signed with another secret or by another release. */
export interface UnverifiedMark {
  readonly error: ApiError;
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
  /** Returns undefined if the request has no mark. */
  received(request: RequestHead): Sent | UnverifiedMark | undefined;
  /** Forwards a request to its home region. Both the request body and the response are streamed. */
  forward(homeRegion: string, toSend: ToSend): Promise<StreamedReply>;
}
