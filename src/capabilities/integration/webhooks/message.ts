/** Request of one attempt: the body, and headers for this attempt. */
import { deprecationHeaders } from '../../../contract/deprecation-headers.ts';
import {
  eventIdHeader,
  eventVersionHeader,
  orgSignedDelivery,
  signatureHeader,
} from '../../../contract/webhook-signing.ts';
import type { Receiver } from './receivers.ts';
import type { EventPayload } from './schema.ts';
import type { Post } from './sender.ts';
import { orgSignature, ownSignature } from './signatures.ts';

export interface Event {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly orgId: string;
  readonly data: object;
}

/** Returns the body of every attempt in the format `json`, before it is serialized: it never changes. */
export function payloadOf({ id, type, createdAt, orgId, data }: Event): EventPayload {
  return { id, type, created_at: createdAt.toISOString(), org_id: orgId, data };
}

export interface MessageContext {
  readonly docsUrl: string;
  readonly userAgent: string;
}

export function messageOf(
  { url, own, orgSecret }: Receiver,
  { id }: Pick<Event, 'id'>,
  body: Buffer,
  now: Date,
  { docsUrl, userAgent }: MessageContext,
): Post {
  const common = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    [eventIdHeader]: id,
  };
  if (own === null) {
    return {
      url,
      body,
      headers: {
        ...common,
        [signatureHeader]: orgSignature(body, orgSecret),
        [eventVersionHeader]: '1',
        ...deprecationHeaders(orgSignedDelivery, docsUrl),
      },
    };
  }
  const { secret, previous } = own;
  const secrets = previous !== null && now < previous.until ? [secret, previous.secret] : [secret];
  return {
    url,
    body,
    headers: {
      ...common,
      [signatureHeader]: ownSignature(body, secrets, Math.floor(now.getTime() / 1_000)),
      [eventVersionHeader]: '2',
    },
  };
}
