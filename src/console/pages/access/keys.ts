/** API keys of an organization and of operators: list and forms. */
import { orgRoles } from '../../../contract/scopes.ts';
import { outranks } from '../../../platform/http/routes/access.ts';
import { ApiFailure } from '../../api.ts';
import { confirmButton, linkButton } from '../../buttons.ts';
import { card, definitionList, empty, secretBox } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, humanize, time } from '../../format.ts';
import type { Field, Values } from '../../forms.ts';
import { keyHoldField, keyReserveField } from '../../hold-options.ts';
import { html, link, type Markup, type Part, path as urlPath } from '../../html.ts';
import { badge, code, subline } from '../../inline.ts';
import { listing } from '../../listing.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { quickStarts } from '../../snippets.ts';
import type { Column } from '../../table.ts';
import type { KeyResponse } from '../../views.ts';
import {
  attributionBody,
  attributionCell,
  attributionEntries,
  attributionFormFields,
  ownAttribution,
  withInvalidTags,
} from './key-attribution.ts';
import { scopeList, statusTones } from './key-cells.ts';
import { presetLinks, presetValues } from './key-presets.ts';

/** The pages for keys of an organization, or of operators, whose keys have neither other roles nor scopes. */
interface KeyPages {
  readonly audience: 'org' | 'operator';
  readonly listPath: string;
  readonly intro: string;
  readonly createIntro: string;
  fields(visit: ScreenVisit): readonly Field[];
  /** Initial values of the form. */
  load?(visit: ScreenVisit): Promise<Values>;
  /** Links above the form. */
  presets?(visit: ScreenVisit): Part;
  /** Converts the values of the form to the body of the request. */
  body?(body: Readonly<Record<string, unknown>>): object;
}

const keyName: Field = {
  name: 'name',
  label: 'Name',
  kind: 'text',
  required: true,
  help: 'The service or person that will use it.',
  placeholder: 'Gateway (production)',
};
const expiry: Field = {
  name: 'expires_at',
  label: 'Expires',
  kind: 'instant',
  help: 'In the time zone of the organization. Leave blank for no expiry.',
};

export const keyScreens = screensOf({
  audience: 'org',
  listPath: '/console/keys',
  intro: 'API keys for your gateways and services. Revocation takes effect within a second.',
  createIntro: 'Role and scopes cannot be changed later and cannot exceed yours.',
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
      help: 'Viewer: read. Member: also post runs and request decisions. Admin: also configure. Owner: full access.',
    },
    {
      name: 'scopes',
      label: 'Scopes',
      kind: 'checkboxes',
      options: [...credential.scopes].sort().map((value) => ({ value, label: value })),
      help: 'Select at least one. Calls through the gateway need gateway:call; a gateway of your own needs edge:decide and runs:write.',
    },
    expiry,
    ...attributionFormFields,
    keyHoldField,
    keyReserveField,
  ],
  load: async (visit) => ({
    ...presetValues(visit.query.get('preset'), visit.credential),
    name: visit.query.get('name') ?? '',
    ...ownAttribution(visit),
  }),
  body: attributionBody,
  presets: presetLinks,
});

/** A key without scopes cannot call anything. The API accepts it, but in a form it is a mistake. */
export function withoutScopes({ scopes }: Readonly<Record<string, unknown>>): ApiFailure | undefined {
  const field = { field: 'scopes', code: 'empty', message: 'Select at least one scope.' };
  return Array.isArray(scopes) && scopes.length === 0
    ? new ApiFailure(422, 'validation_failed', 'Select at least one scope.', { fields: [field] })
    : undefined;
}

export const operatorKeyScreens = screensOf({
  audience: 'operator',
  listPath: '/console/operator-keys',
  intro: 'API keys of operators. Keys of an organization are created on its page.',
  createIntro: 'The key has full operator access.',
  fields: () => [
    { ...keyName, placeholder: 'On-call' },
    { ...expiry, help: 'In UTC. Leave blank for no expiry.' },
  ],
});

function screensOf(pages: KeyPages): readonly Screen[] {
  const { audience, listPath, createIntro, fields, load, presets, body } = pages;
  const keyPath = `${listPath}/{key_id}`;
  return [
    { path: listPath, audience, handler: (visit) => list(visit, pages) },
    ...formScreens<'keys.mint'>({
      path: `${listPath}/new`,
      audience,
      title: 'Create API key',
      intro: createIntro,
      submit: 'Create API key',
      back: listPath,
      fields,
      ...(load && { load }),
      ...(presets && { above: presets }),
      check: (values) => withoutScopes(values) ?? withInvalidTags(values),
      ...(body && { body }),
      call: 'POST {org}/keys',
      done: 'saved',
      show: async (visit, key) => secretPage('API key created', key, visit, listPath),
    }),
    ...formScreens<'keys.rotate'>({
      path: `${keyPath}/rotate`,
      audience,
      title: 'Rotate API key',
      intro: 'Creates a new key with the same name, role, scopes and attribution.',
      submit: 'Rotate',
      back: listPath,
      fields: () => [
        {
          name: 'overlap_seconds',
          label: 'Keep the old key working for',
          kind: 'select',
          options: [
            { value: '0', label: '0 (revoke immediately)' },
            { value: '3600', label: '1 hour' },
            { value: '86400', label: '1 day' },
            { value: '604800', label: '1 week' },
          ],
        },
      ],
      call: 'POST {org}/keys/{key_id}/rotate',
      body: ({ overlap_seconds }) => ({ overlap_seconds: Number(overlap_seconds) }),
      done: 'saved',
      show: async (visit, key) => secretPage('API key rotated', key, visit, listPath),
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

/** The only page that shows the secret. */
function secretPage(
  title: string,
  key: Responses['keys.mint'],
  { org, baseUrl }: ScreenVisit,
  listPath: string,
) {
  return view({ title })`
${secretBox('Your new API key.', key.secret)}
${card(
  'Details',
  definitionList([
    ['Name', key.name],
    ['Role', key.role],
    ['Scopes', scopeList(key)],
    ['Expires', time(key.expires_at, org.timezone)],
    ...attributionEntries(key),
  ]),
)}
${quickStarts(key.scopes, { url: baseUrl, key: key.secret, orgId: org.id })}
<p><a class="button" href="${listPath}">All API keys</a></p>`;
}

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: Object.keys(statusTones).map((value) => ({ value, label: humanize(value) })),
  },
];
const orgFilters: readonly Filter[] = [
  ...filters,
  { name: 'member_id', label: 'Member' },
  { name: 'team', label: 'Team' },
  { name: 'customer_id', label: 'Customer' },
];

async function list(visit: ScreenVisit, { audience, listPath, intro }: KeyPages) {
  const { api, org, query, now, credential } = visit;
  const listed = await api.get<'keys.list'>(link(`${org.path}/keys`, { ...filterQuery(query), limit: '50' }));
  const columns: Column<KeyResponse>[] = [
    {
      title: 'Name',
      cell({ id, name, hint }) {
        const strong = html`<strong>${name}</strong>`;
        return [
          audience === 'org' ? html`<a href="${urlPath`/console/keys/${id}`}">${strong}</a>` : strong,
          id === credential.keyId && html` ${badge('you', 'info')}`,
          subline(code(hint)),
        ];
      },
    },
    { title: 'Role', cell: (key) => key.role },
    {
      title: 'Scopes',
      cell: (key) => html`<details><summary>${key.scopes.length}</summary>${scopeList(key)}</details>`,
    },
    { title: 'Attribution', cell: attributionCell },
    { title: 'Status', cell: (key) => badge(humanize(key.status), statusTones[key.status] ?? 'plain') },
    { title: 'Last used', cell: (key) => ago(key.last_used_at, now) },
    { title: 'Expires', cell: (key) => (key.expires_at === null ? 'never' : ago(key.expires_at, now)) },
    { title: 'Created', cell: (key) => time(key.created_at, org.timezone) },
    { title: '', cell: (key) => actions(key, listPath, visit) },
  ];
  const create = linkButton(visit, { path: `${listPath}/new`, label: 'Create API key', tone: 'primary' });
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No API keys yet', 'Create one for your gateway.', create),
    caption: 'API keys',
    columns: columns.filter(({ title }) => audience === 'org' || !/Role|Scopes|Attribution/.test(title)),
  });
  return view({ title: 'API keys', actions: create, intro })`
${filterBar(listPath, audience === 'org' ? orgFilters : filters, query)}
${card('API keys', body)}`;
}

/** Keys with a higher role cannot be revoked, and keys with more scopes than the visitor's cannot be rotated. */
function actions(key: KeyResponse, listPath: string, visit: ScreenVisit): Markup | false {
  const { role, scopes } = visit.credential;
  const at = `${listPath}/${encodeURIComponent(key.id)}`;
  const mayRotate = role === 'operator' || key.scopes.every((scope) => scopes.has(scope));
  return (
    key.status !== 'revoked' &&
    !outranks(key.role, role) &&
    html`<div class="actions">${mayRotate && linkButton(visit, { path: `${at}/rotate`, label: 'Rotate', about: key.name })}
${confirmButton(
  visit,
  { path: `${at}/revoke`, label: 'Revoke', about: key.name, thing: key.name },
  `Revoke “${key.name}”? Requests with this key will fail immediately. This cannot be undone.`,
)}</div>`
  );
}
