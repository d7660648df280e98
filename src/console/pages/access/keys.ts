/** Keys: who may call, with which role and scopes, and when each was last used. */
import { orgRoles } from '../../../contract/scopes.ts';
import type { Responses } from '../../../contract/views/responses.ts';
import { outranks } from '../../../platform/http/routes/access.ts';
import { ApiFailure } from '../../api.ts';
import {
  askFirst,
  badge,
  type Column,
  card,
  definitionList,
  empty,
  heading,
  linkButton,
  secretBox,
  type Tone,
} from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, time, words } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';

type KeyView = Responses['keys.read'];

/** The keys of an org, and those of operators, which have neither another role nor scopes. */
interface KeyPages {
  readonly audience: 'org' | 'operator';
  readonly listPath: string;
  readonly intro: string;
  readonly mintIntro: string;
  fields(visit: ScreenVisit): readonly Field[];
  /** What the form holds at first. */
  load?(visit: ScreenVisit): Promise<Values>;
  /** Beside the form's intro. */
  presets?(visit: ScreenVisit): Part;
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
      options: ['member' as const, ...orgRoles.filter((role) => role !== 'member')]
        .filter((role) => !outranks(role, credential.role))
        .map((value) => ({ value, label: value })),
      help: 'viewer reads; member posts runs and asks for decisions; admin configures; owner does everything.',
    },
    {
      name: 'scopes',
      label: 'Scopes',
      kind: 'checkboxes',
      options: [...credential.scopes].sort().map((value) => ({ value, label: value })),
      help: 'A key needs at least one; a gateway needs edge:decide and runs:write.',
    },
    expiry,
  ],
  load: async ({ query, credential }) => ({
    role: 'member',
    scopes: presetScopes(query.get('preset'), credential),
    name: query.get('name') ?? '',
  }),
  presets: ({ credential }) =>
    html`<p class="presets">Presets: ${presets
      .filter(({ name }) => presetScopes(name, credential).length > 0)
      .map(
        ({ name, label }) =>
          html`<a class="button" href="${link('/console/keys/new', { preset: name })}">${label}</a> `,
      )}</p>`,
});

interface Preset {
  readonly name: string;
  readonly label: string;
  holds(scope: string): boolean;
}

/** Scopes for common uses, to begin with. */
const presets: readonly Preset[] = [
  { name: 'gateway', label: 'Gateway', holds: (scope) => ['edge:decide', 'runs:write'].includes(scope) },
  { name: 'read', label: 'Read-only', holds: (scope) => scope.endsWith(':read') },
  { name: 'all', label: 'All scopes', holds: () => true },
];

/** None that the visitor does not have: the API would refuse it. */
function presetScopes(name: string | null, { scopes }: ScreenVisit['credential']): string[] {
  const preset = presets.find((one) => one.name === name);
  return preset === undefined ? [] : [...scopes].filter((scope) => preset.holds(scope));
}

/** A key without scopes may call nothing. The API allows it, but from a form it is a box that was forgotten. */
export function withoutScopes({ scopes }: Readonly<Record<string, unknown>>): ApiFailure | undefined {
  const field = { field: 'scopes', code: 'empty', message: 'Select at least one scope.' };
  return Array.isArray(scopes) && scopes.length === 0
    ? new ApiFailure(422, 'validation_failed', 'Select at least one scope.', { fields: [field] })
    : undefined;
}

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
  const { audience, listPath, mintIntro, fields, load, presets: presetLinks } = pages;
  const keyPath = `${listPath}/{key_id}`;
  return [
    { path: listPath, audience, handler: (visit) => list(visit, pages) },
    ...formScreens<'keys.mint'>({
      path: `${listPath}/new`,
      audience,
      title: 'Mint a key',
      intro: mintIntro,
      submit: 'Mint the key',
      back: listPath,
      fields,
      ...(load && { load }),
      ...(presetLinks && { above: presetLinks }),
      check: withoutScopes,
      call: 'POST {org}/keys',
      done: 'saved',
      show: async (visit, key) => shown('The key was minted.', key, visit, listPath),
    }),
    ...formScreens<'keys.rotate'>({
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
      call: 'POST {org}/keys/{key_id}/rotate',
      body: ({ overlap_seconds }) => ({ overlap_seconds: Number(overlap_seconds) }),
      done: 'saved',
      show: async (visit, key) => shown('The key was rotated.', key, visit, listPath),
    }),
    actionScreen({
      path: `${keyPath}/revoke`,
      audience,
      call: 'DELETE {org}/keys/{key_id}',
      done: 'key_revoked',
      back: listPath,
    }),
  ];
}

/** The only answer that ever holds the secret. */
function shown(what: string, key: Responses['keys.mint'], { org }: ScreenVisit, listPath: string) {
  return view(
    what,
    html`${heading(what)}${secretBox('This is the key.', key.secret)}
${card(
  'About it',
  definitionList([
    ['Name', key.name],
    ['Role', key.role],
    ['Scopes', scopeList(key)],
    ['Expires', time(key.expires_at, org.timezone)],
  ]),
)}
<p><a class="button" href="${listPath}">All keys</a></p>`,
  );
}

async function list(visit: ScreenVisit, { audience, listPath, intro }: KeyPages) {
  const { api, org, query, now, credential } = visit;
  const listed = await api.get<'keys.list'>(link(`${org.path}/keys`, { ...filterQuery(query), limit: '50' }));
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
    { title: '', cell: (key) => actions(key, listPath, visit) },
  ];
  const mint = linkButton(visit, { path: `${listPath}/new`, label: 'Mint a key', tone: 'primary' });
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

/** A key of a higher role is not the visitor's to end, nor one with further scopes theirs to replace. */
function actions(key: KeyView, listPath: string, visit: ScreenVisit): Markup | false {
  const { role, scopes } = visit.credential;
  const at = `${listPath}/${encodeURIComponent(key.id)}`;
  const mayReplace = role === 'operator' || key.scopes.every((scope) => scopes.has(scope));
  return (
    key.status !== 'revoked' &&
    !outranks(key.role, role) &&
    html`<div class="actions">${mayReplace && linkButton(visit, { path: `${at}/rotate`, label: 'Rotate', about: key.name })}
${askFirst(visit, { path: `${at}/revoke`, label: 'Revoke', about: key.name }, html`Whoever uses “${key.name}” is refused from now on, for good.`)}</div>`
  );
}
