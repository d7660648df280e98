/** Keys: who may call, with which role and scopes, and when each was last used. */
import type { Listed } from '../api.ts';
import {
  askFirst,
  badge,
  card,
  empty,
  facts,
  heading,
  nextPage,
  secretBox,
  type Tone,
  table,
} from '../components.ts';
import { actionScreen, formScreens, pathOf } from '../editing.ts';
import { ago, time, words } from '../format.ts';
import { type Html, html, link, type Part, path } from '../html.ts';
import { type Screen, type ScreenVisit, view } from '../screen.ts';

const listPath = '/console/keys';
const roles = ['viewer', 'member', 'admin', 'owner'];

interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly status: string;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

interface MintedKey extends KeyView {
  readonly secret: string;
}

export const keyScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens<MintedKey>({
    path: `${listPath}/new`,
    title: 'Mint a key',
    intro: 'Role and scopes are fixed when a key is minted, and never above your own.',
    submit: 'Mint the key',
    back: listPath,
    fields: ({ credential }) => [
      {
        name: 'name',
        label: 'Name',
        kind: 'text',
        required: true,
        help: 'Who or what will use it.',
        placeholder: 'Gateway (production)',
      },
      {
        name: 'role',
        label: 'Role',
        kind: 'select',
        required: true,
        options: ['member', ...roles.filter((role) => role !== 'member')].map((value) => ({
          value,
          label: value,
        })),
        help: 'viewer reads; member posts runs and asks for decisions; admin configures; owner does everything.',
      },
      {
        name: 'scopes',
        label: 'Scopes',
        kind: 'checkboxes',
        options: [...credential.scopes].sort().map((value) => ({ value, label: value })),
        help: 'A gateway needs edge:decide and runs:write.',
      },
      {
        name: 'expires_at',
        label: 'Expires',
        kind: 'instant',
        help: 'In the time zone of the org. Empty: never.',
      },
    ],
    send: ({ api, org }, body) => api.send('POST', `${org.path}/keys`, body),
    done: 'saved',
    show: async (visit, key) => shown('The key was minted.', key, visit),
  }),
  ...formScreens<MintedKey>({
    path: `${listPath}/{key_id}/rotate`,
    title: 'Rotate a key',
    intro:
      'Makes a successor with the same name, role and scopes. The old key ends now, or after an overlap in which both work.',
    submit: 'Rotate',
    back: listPath,
    fields: () => [
      {
        name: 'overlap_seconds',
        label: 'Both work for',
        kind: 'select',
        options: [
          { value: '0', label: 'no time: the old one ends now' },
          { value: '3600', label: 'an hour' },
          { value: '86400', label: 'a day' },
          { value: '604800', label: 'a week' },
        ],
      },
    ],
    send: ({ api, org, params }, { overlap_seconds }) =>
      api.send('POST', org.path + pathOf('/keys/{key_id}/rotate', params), {
        overlap_seconds: Number(overlap_seconds),
      }),
    done: 'saved',
    show: async (visit, key) => shown('The key was rotated.', key, visit),
  }),
  actionScreen({
    path: `${listPath}/{key_id}/revoke`,
    send: ({ api, org, params }) => api.send('DELETE', org.path + pathOf('/keys/{key_id}', params)),
    done: 'key_revoked',
    back: listPath,
  }),
];

/** The only answer that ever holds the secret. */
function shown(what: string, key: MintedKey, { org }: ScreenVisit) {
  return view(
    what,
    html`${heading(what)}${secretBox('This is the key.', key.secret)}
${card(
  'About it',
  facts([
    ['Name', key.name],
    ['Role', key.role],
    ['Scopes', scopeList(key)],
    ['Expires', time(key.expires_at, org.timezone)],
  ]),
)}
<p><a class="button" href="${listPath}">All keys</a></p>`,
  );
}

async function list({ api, org, query, now, credential }: ScreenVisit) {
  const { data, next_cursor } = await api.get<Listed<KeyView>>(
    link(`${org.path}/keys`, { cursor: query.get('cursor') ?? undefined, limit: '50' }),
  );
  const body =
    data.length === 0
      ? empty('No keys', 'Mint one for your gateway.')
      : html`${table({
          caption: 'Keys',
          rows: data,
          columns: [
            {
              title: 'Key',
              cell: (key) =>
                html`<strong>${key.name}</strong>${key.id === credential.keyId && html` ${badge('you', 'info')}`}<span class="sub"><code>${key.hint}</code></span>`,
            },
            { title: 'Role', cell: (key) => key.role },
            {
              title: 'Scopes',
              cell: (key) =>
                html`<details><summary>${key.scopes.length}</summary>${scopeList(key)}</details>`,
            },
            { title: 'Status', cell: (key) => badge(words(key.status), tones[key.status] ?? 'plain') },
            { title: 'Last used', cell: (key) => ago(key.last_used_at, now) },
            {
              title: 'Expires',
              cell: (key) => (key.expires_at === null ? 'never' : ago(key.expires_at, now)),
            },
            { title: 'Minted', cell: (key) => time(key.created_at, org.timezone) },
            { title: '', cell: actions },
          ],
        })}${nextPage(listPath, query, next_cursor)}`;
  return view(
    'Keys',
    html`${heading('Keys', html`<a class="button primary" href="${listPath}/new">Mint a key</a>`, 'Who may call the API. A revocation holds everywhere within a second.')}
${card('Latest first', body)}`,
  );
}

const tones: Readonly<Record<string, Tone>> = {
  active: 'good',
  expired: 'warn',
  revoked: 'bad',
  not_yet_valid: 'info',
};

function scopeList({ scopes }: KeyView): Part {
  return scopes.length === 0 ? 'none' : scopes.map((scope) => html`<code>${scope}</code> `);
}

function actions(key: KeyView): Html | false {
  return (
    key.status !== 'revoked' &&
    html`<div class="actions"><a class="button" href="${path`/console/keys/${key.id}/rotate`}">Rotate<span class="hidden"> ${key.name}</span></a>
${askFirst({ path: path`/console/keys/${key.id}/revoke`, label: 'Revoke', about: key.name }, html`Whoever uses “${key.name}” is refused from now on, for good.`)}</div>`
  );
}
