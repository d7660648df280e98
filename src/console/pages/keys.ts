/** Keys: who may call, with which role and scopes, and when each was last used. */
import type { Listed } from '../api.ts';
import {
  askFirst,
  badge,
  type Column,
  card,
  empty,
  facts,
  heading,
  secretBox,
  type Tone,
} from '../components.ts';
import { actionScreen, formScreens, pathOf } from '../editing.ts';
import { ago, time, words } from '../format.ts';
import type { Field } from '../forms.ts';
import { type Html, html, link, type Part } from '../html.ts';
import { listing } from '../listing.ts';
import { type Screen, type ScreenVisit, view } from '../screen.ts';

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

/** The keys of an org, and those of operators, which have neither another role nor scopes. */
interface KeyPages {
  readonly audience: 'org' | 'operator';
  readonly listPath: string;
  readonly intro: string;
  readonly mintIntro: string;
  fields(visit: ScreenVisit): readonly Field[];
}

const keyName: Field = {
  name: 'name',
  label: 'Name',
  kind: 'text',
  required: true,
  help: 'Who or what will use it.',
  placeholder: 'Gateway (production)',
};
const expiry: Field = {
  name: 'expires_at',
  label: 'Expires',
  kind: 'instant',
  help: 'In the time zone of the org. Empty: never.',
};

export const keyScreens = screensOf({
  audience: 'org',
  listPath: '/console/keys',
  intro: 'Who may call the API. A revocation holds everywhere within a second.',
  mintIntro: 'Role and scopes are fixed when a key is minted, and never above your own.',
  fields: ({ credential }) => [
    keyName,
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
    expiry,
  ],
});

export const operatorKeyScreens = screensOf({
  audience: 'operator',
  listPath: '/console/operator-keys',
  intro: 'Who runs this service. Keys of an organization are minted on its own page.',
  mintIntro: 'Whoever has it may do everything that operators may.',
  fields: () => [
    { ...keyName, placeholder: 'On-call' },
    { ...expiry, help: 'In UTC. Empty: never.' },
  ],
});

function screensOf(pages: KeyPages): readonly Screen[] {
  const { audience, listPath, mintIntro, fields } = pages;
  const keyPath = `${listPath}/{key_id}`;
  return [
    { path: listPath, audience, handler: (visit) => list(visit, pages) },
    ...formScreens<MintedKey>({
      path: `${listPath}/new`,
      audience,
      title: 'Mint a key',
      intro: mintIntro,
      submit: 'Mint the key',
      back: listPath,
      fields,
      send: ({ api, org }, body) => api.send('POST', `${org.path}/keys`, body),
      done: 'saved',
      show: async (visit, key) => shown('The key was minted.', key, visit, listPath),
    }),
    ...formScreens<MintedKey>({
      path: `${keyPath}/rotate`,
      audience,
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
      show: async (visit, key) => shown('The key was rotated.', key, visit, listPath),
    }),
    actionScreen({
      path: `${keyPath}/revoke`,
      audience,
      send: ({ api, org, params }) => api.send('DELETE', org.path + pathOf('/keys/{key_id}', params)),
      done: 'key_revoked',
      back: listPath,
    }),
  ];
}

/** The only answer that ever holds the secret. */
function shown(what: string, key: MintedKey, { org }: ScreenVisit, listPath: string) {
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

async function list(
  { api, org, query, now, credential }: ScreenVisit,
  { audience, listPath, intro }: KeyPages,
) {
  const listed = await api.get<Listed<KeyView>>(
    link(`${org.path}/keys`, { cursor: query.get('cursor') ?? undefined, limit: '50' }),
  );
  const columns: Column<KeyView>[] = [
    {
      title: 'Key',
      cell: (key) =>
        html`<strong>${key.name}</strong>${key.id === credential.keyId && html` ${badge('you', 'info')}`}<span class="sub"><code>${key.hint}</code></span>`,
    },
    { title: 'Role', cell: (key) => key.role },
    {
      title: 'Scopes',
      cell: (key) => html`<details><summary>${key.scopes.length}</summary>${scopeList(key)}</details>`,
    },
    { title: 'Status', cell: (key) => badge(words(key.status), tones[key.status] ?? 'plain') },
    { title: 'Last used', cell: (key) => ago(key.last_used_at, now) },
    { title: 'Expires', cell: (key) => (key.expires_at === null ? 'never' : ago(key.expires_at, now)) },
    { title: 'Minted', cell: (key) => time(key.created_at, org.timezone) },
    { title: '', cell: (key) => actions(key, listPath) },
  ];
  const mint = html`<a class="button primary" href="${listPath}/new">Mint a key</a>`;
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No keys', 'Mint one for your gateway.', mint),
    caption: 'Keys',
    columns: columns.filter(({ title }) => audience === 'org' || !/Role|Scopes/.test(title)),
  });
  return view(
    'Keys',
    html`${heading('Keys', mint, intro)}
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

function actions(key: KeyView, listPath: string): Html | false {
  const at = `${listPath}/${encodeURIComponent(key.id)}`;
  return (
    key.status !== 'revoked' &&
    html`<div class="actions"><a class="button" href="${at}/rotate">Rotate<span class="hidden"> ${key.name}</span></a>
${askFirst({ path: `${at}/revoke`, label: 'Revoke', about: key.name }, html`Whoever uses “${key.name}” is refused from now on, for good.`)}</div>`
  );
}
