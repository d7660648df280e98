/** Text that is rendered once and sent many times. It has an entity tag for client caches. */
import { createHash } from 'node:crypto';

export interface Rendered {
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** Returns a rendered text. With `no-cache` a client may cache it, but must revalidate it each time. */
export function rendered(contentType: string, text: string, headers: Rendered['headers'] = {}): Rendered {
  const digest = createHash('sha256').update(text).digest('base64url');
  return { contentType, text, headers: { ...headers, etag: `"${digest}"`, 'cache-control': 'no-cache' } };
}

/** Returns a function that only renders again if `source` returns another object than the last time. */
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
