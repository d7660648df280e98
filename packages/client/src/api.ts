/** The operations of the API, from their table. */
import type { Api } from './generated/api.ts';
import { operations } from './generated/operations.ts';
import type { ListRequest, RequestOptions } from './request-options.ts';
import type { Transport } from './transport.ts';

type Namespace = { [name: string]: Namespace | ((...args: unknown[]) => unknown) };

export function createApi(transport: Transport): Api {
  const root: Namespace = {};
  for (const [id, form] of Object.entries(operations)) {
    const names = id.split('.');
    const last = names.pop() as string;
    let place = root;
    for (const name of names) {
      place[name] ??= {};
      place = place[name] as Namespace;
    }
    place[last] = operation(transport, form);
  }
  return root as unknown as Api;
}

/** `form`: method, path, and letters for a body, a query, a list and a raw response. */
function operation(transport: Transport, form: string): (...args: unknown[]) => unknown {
  const [method = '', template = '', letters = ''] = form.split(' ');
  const hasBody = letters.includes('b');
  const hasQuery = letters.includes('q');
  return (...args) => {
    const path = template.replace(/\{\w+\}/g, () => encodeURIComponent(pathArgument(args.shift())));
    const body = hasBody ? args.shift() : undefined;
    const query = hasQuery ? (args.shift() as object | undefined) : undefined;
    const request = { method, path, body, query, ...(args.shift() as RequestOptions | undefined) };
    if (letters.includes('l')) {
      return listRequest((cursor) =>
        transport.send(cursor === undefined ? request : { ...request, query: { ...query, cursor } }),
      );
    }
    return letters.includes('r') ? transport.open(request) : transport.send(request);
  };
}

/** An empty id would name another path. */
function pathArgument(value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new TypeError('An id in the path of a request must be a string that is not empty.');
  }
  return value;
}

interface PageOfRows {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
}

/** Sends nothing until it is awaited or iterated over. */
function listRequest(load: (cursor?: string) => Promise<unknown>): ListRequest<unknown, unknown> {
  async function* pages(): AsyncGenerator<PageOfRows> {
    let page = (await load()) as PageOfRows;
    yield page;
    while (page.next_cursor != null) {
      page = (await load(page.next_cursor)) as PageOfRows;
      yield page;
    }
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) {
        yield* data;
      }
    },
    // biome-ignore lint/suspicious/noThenProperty: a list is awaited for its first page
    then: (onPage, onError) => load().then(onPage, onError),
  };
}
