/** Names of API keys and members, which rows of other lists contain only by id, and links to them and to customers. */
import { type Api, ApiFailure } from './api.ts';
import { html, link, type Part, path } from './html.ts';
import type { ScreenVisit, VisitedOrg } from './screen.ts';
import type { KeyResponse } from './views.ts';

export type KeysById = ReadonlyMap<string, KeyResponse>;

/** Reads a single key by its id. Otherwise reads all keys at once, up to a page; then the given ones that are not among them. */
export async function keysById(api: Api, org: VisitedOrg, ids: readonly string[]): Promise<KeysById> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0 || api.denied('GET', `${org.path}/keys`) !== undefined) {
    return new Map();
  }
  const listed =
    wanted.length === 1
      ? { data: [], next_cursor: '' }
      : await api.tryGet<'keys.list'>(pageOf(`${org.path}/keys`));
  if (listed instanceof ApiFailure) {
    return new Map();
  }
  const keys = new Map(listed.data.map((key) => [key.id, key]));
  const missing = listed.next_cursor === null ? [] : wanted.filter((id) => !keys.has(id));
  const read = await Promise.all(missing.map((id) => api.tryGet<'keys.read'>(org.path + path`/keys/${id}`)));
  for (const key of read) {
    if (!(key instanceof ApiFailure)) {
      keys.set(key.id, key);
    }
  }
  return keys;
}

/** Returns the names of members by id. `member_id` of a run may also be any other text. */
export async function memberNames(
  api: Api,
  org: VisitedOrg,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const isListed =
    ids.some((id) => id?.startsWith('mem_')) && api.denied('GET', `${org.path}/members`) === undefined;
  const listed = isListed ? await api.tryGet<'members.list'>(pageOf(`${org.path}/members`)) : undefined;
  return listed === undefined || listed instanceof ApiFailure
    ? new Map()
    : new Map(listed.data.map(({ id, name, email }) => [id, email ?? name]));
}

function pageOf(list: string): string {
  return link(list, { limit: '200' });
}

/** A link to the key, with its name, or its id if the visitor may not read keys. */
export function keyLink(id: string, keys: KeysById, page = path`/console/keys/${id}`): Part {
  const key = keys.get(id);
  return key === undefined ? html`<code>${id}</code>` : html`<a href="${page}">${key.name}</a>`;
}

/** Names of those who act: API keys and members. */
export interface Actors {
  readonly keys: KeysById;
  readonly members: ReadonlyMap<string, string>;
  /** The page of the keys of operators, which have no page each; undefined for those of an organization. */
  readonly keysPage: string | undefined;
}

export async function actorsById(
  api: Api,
  org: VisitedOrg,
  ids: readonly (string | null)[],
): Promise<Actors> {
  const [keys, members] = await Promise.all([
    keysById(
      api,
      org,
      ids.flatMap((id) => (id?.startsWith('key_') ? [id] : [])),
    ),
    memberNames(api, org, ids),
  ]);
  return { keys, members, keysPage: org.id === '' ? '/console/operator-keys' : undefined };
}

/** A link to the key or member, with its name; the id of anything else, such as an operator. */
export function actorLink(id: string, { keys, members, keysPage }: Actors): Part {
  const name = members.get(id);
  return name === undefined
    ? keyLink(id, keys, keysPage)
    : html`<a href="${path`/console/settings/members/${id}`}">${name}</a>`;
}

/** A link to the page of a customer; to their runs if the visitor may not open it. */
export function customerLink({ api, org }: Pick<ScreenVisit, 'api' | 'org'>, id: string): Part {
  const mayOpen = api.denied('GET', org.path + path`/customers/${id}`) === undefined;
  const href = mayOpen ? path`/console/customers/of/${id}` : link('/console/runs', { customer_id: id });
  return html`<a href="${href}">${id}</a>`;
}

/** The name of the key or member as text, or its id. */
export function actorName(id: string, { keys, members }: Actors): string {
  return members.get(id) ?? keys.get(id)?.name ?? id;
}
