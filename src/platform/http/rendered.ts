/** Text that is rendered once and sent many times, with an entity tag by which a client can keep its copy. */
import { createHash } from 'node:crypto';
import type { Reply, StreamedReply } from './reply.ts';
import type { RequestHead } from './request-head.ts';

export interface Rendered {
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** `no-cache`: a client may keep its copy, and asks each time if it is still the same. */
export function rendered(contentType: string, text: string, headers: Rendered['headers'] = {}): Rendered {
  const digest = createHash('sha256').update(text).digest('base64url');
  return { contentType, text, headers: { ...headers, etag: `"${digest}"`, 'cache-control': 'no-cache' } };
}

/** Renders again only when `source` returns another object than the last time. */
export function renderedFrom<Source extends object>(
  source: () => Source,
  render: (source: Source) => Rendered,
): () => Rendered {
  let last: { readonly source: Source; readonly value: Rendered } | undefined;
  return () => {
    const current = source();
    if (last?.source !== current) {
      last = { source: current, value: render(current) };
    }
    return last.value;
  };
}

/** Replaces a reply by 304 where `If-None-Match` names its entity tag. */
export function unlessUnchanged(
  { method, headers }: RequestHead,
  reply: Reply | StreamedReply,
): Reply | StreamedReply {
  const { etag, 'content-type': _, ...others } = reply.headers;
  const known = headers['if-none-match'];
  if (typeof etag !== 'string' || known === undefined || reply.status !== 200) {
    return reply;
  }
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && names(known, etag) ? { status: 304, headers: { ...others, etag }, body: '' } : reply;
}

/** The comparison is weak: a proxy that compresses marks the tag with `W/`. */
function names(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
