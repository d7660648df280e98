/** Answers 304 to a client that already has the current version. */
import type { Reply, StreamedReply } from './reply.ts';
import type { RequestHead } from './request-head.ts';
import { includesTag } from './tag-list.ts';

/** Replaces a reply by 304 if `If-None-Match` contains its entity tag. */
export function unlessUnchanged(
  { method, headers }: RequestHead,
  reply: Reply | StreamedReply,
): Reply | StreamedReply {
  const known = headers['if-none-match'];
  const { etag } = reply.headers;
  if (known === undefined || typeof etag !== 'string' || reply.status !== 200) {
    return reply;
  }
  const { 'content-type': _, ...others } = reply.headers;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && includesTag(known, etag) ? { status: 304, headers: others, body: '' } : reply;
}
