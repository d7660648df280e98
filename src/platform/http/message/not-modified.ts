/** Answers 304 to a client that already has the current version. */
import type { Reply, StreamedReply } from './reply.ts';
import type { RequestHead } from './request-head.ts';

/** Replaces a reply by 304 if `If-None-Match` contains its entity tag. */
export function unlessUnchanged(
  { method, headers }: RequestHead,
  reply: Reply | StreamedReply,
): Reply | StreamedReply {
  const known = headers['if-none-match'];
  if (known === undefined || reply.status !== 200 || (method !== 'GET' && method !== 'HEAD')) {
    return reply;
  }
  const { etag, 'content-type': _, ...others } = reply.headers;
  return typeof etag === 'string' && matches(known, etag)
    ? { status: 304, headers: { ...others, etag }, body: '' }
    : reply;
}

/** Weak comparison: a proxy that compresses adds `W/` to the tag. */
function matches(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
