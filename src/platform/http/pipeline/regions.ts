/** The pipeline's interface to other regions: requests that they forwarded to this one, and requests to forward to them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from '../../../contract/api-error.ts';
import type { BodyTrailer } from '../message/body.ts';
import type { StreamedReply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';
import type { Credential } from '../routes/access.ts';

/** Header with the signed mark of the region that forwards a request. A request with this header is never forwarded again. */
export const forwardHeader = 'x-svc-region-forward';

export interface Sent {
  /** The region that forwarded the request. */
  readonly from: string;
  /** The client's address, as the forwarding region saw it. */
  readonly address: string;
  readonly traceId: string;
  /** Verifies the end of the body; undefined for a request without a body. */
  readonly bodyTrailer: BodyTrailer | undefined;
  /** Throws if the mark was used before. */
  acceptOnce(): Promise<void>;
}

/** A request with an invalid mark: forged, too old, or signed with another secret or by another release. */
export interface UnverifiedMark {
  readonly error: ApiError;
}

export interface ToSend {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
  readonly traceId: string;
  /** The credential of the request, if this region found it. */
  readonly credential?: Credential | undefined;
}

export interface Regions {
  /** Reads the mark of a request; undefined if it has none. */
  received(request: RequestHead): Sent | UnverifiedMark | undefined;
  /** Forwards a request to its home region. Both the request body and the response are streamed. */
  forward(homeRegion: string, toSend: ToSend): Promise<StreamedReply>;
}
