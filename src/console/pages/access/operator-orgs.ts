/** For operators: organizations and their administration. */
import { type Action, actionButton, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, empty, secretBox } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { capitalized, count, day, exactUsd, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { checkTypedName, typedNameField } from '../../typed-name.ts';
import { withoutScopes } from './keys.ts';
import { openConsoleButton } from './operator-grants.ts';
import { asOf, defaultSort, figureColumns, figureStats, sortFilter } from './operator-org-figures.ts';
import { everyScope } from './operator-scopes.ts';

const listPath = '/console/orgs';
const orgPath = `${listPath}/{org_id}`;
const apiPath = '/v1/admin/orgs/{org_id}';

type OrgResponse = Responses['orgs.read'];

const filters: readonly Filter[] = [
  { name: 'search', label: 'Name, slug or ID' },
  {
    name: 'status',
    label: 'Status',
    options: ['active', 'suspended'].map((value) => ({ value, label: capitalized(value) })),
  },
  sortFilter,
];

const orgFields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'slug', label: 'Slug', kind: 'text', help: 'Leave blank to derive it from the name.' },
  {
    name: 'timezone',
    label: 'Time zone',
    kind: 'text',
    placeholder: 'UTC',
    help: 'For example Europe/Lisbon.',
  },
  { name: 'home_region', label: 'Data region', kind: 'text', help: 'Leave blank for no data region.' },
];

export const operatorOrgScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens<'orgs.create'>({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'Create organization',
    submit: 'Create organization',
    back: listPath,
    fields: () => orgFields,
    call: 'POST /v1/admin/orgs',
    // The page of the new organization offers the next step: creating its first key.
    show: async (_visit, { id }) => seeOther(link(path`/console/orgs/${id}`, { done: 'org_created' })),
  }),
  { path: orgPath, audience: 'operator', handler: one },
  ...formScreens({
    path: `${orgPath}/edit`,
    audience: 'operator',
    title: 'Edit organization',
    submit: 'Save',
    back: orgPath,
    fields: () =>
      orgFields.map((field) =>
        field.name === 'home_region' ? { ...field, whenEmpty: 'null' as const } : field,
      ),
    async load(visit) {
      const { name, slug, timezone, home_region } = await found(visit);
      return { name, slug, timezone, home_region: home_region ?? '' };
    },
    call: `PATCH ${apiPath}`,
  }),
  ...formScreens({
    path: `${orgPath}/suspend`,
    audience: 'operator',
    title: 'Suspend organization',
    intro: 'Blocks all API and console access until it is reinstated. Nothing is deleted.',
    submit: 'Suspend organization',
    back: orgPath,
    fields: () => [{ name: 'reason', label: 'Reason', kind: 'text', help: 'Stored with the organization.' }],
    call: `POST ${apiPath}/suspend`,
    done: 'suspended',
  }),
  actionScreen({
    path: `${orgPath}/reinstate`,
    audience: 'operator',
    call: `POST ${apiPath}/reinstate`,
    done: 'reinstated',
    back: orgPath,
  }),
  ...formScreens({
    path: `${orgPath}/remove`,
    audience: 'operator',
    title: 'Remove organization',
    intro:
      'Deletes all data of the organization: runs, limits, API keys and the audit log. This cannot be undone.',
    submit: async (visit) => `Remove organization “${(await found(visit)).name}”`,
    isDestructive: true,
    back: orgPath,
    fields: async (visit) => [typedNameField((await found(visit)).name)],
    check: async (body, visit) => checkTypedName(body, (await found(visit)).name),
    call: `DELETE ${apiPath}`,
    send: ({ api, params }) => api.send<never>('DELETE', pathOf(apiPath, params)),
    show: async () => seeOther(link(listPath, { done: 'org_removed' })),
  }),
  actionScreen({
    path: `${orgPath}/clear-addresses`,
    audience: 'operator',
    call: `DELETE ${apiPath}/ip-allow-list`,
    done: 'saved',
    back: orgPath,
  }),
  ...formScreens<'orgs.keys.mint'>({
    path: `${orgPath}/key`,
    audience: 'operator',
    title: 'Create API key for the organization',
    intro: 'Creates the first key of an organization. Its owner can create more.',
    submit: 'Create API key',
    back: orgPath,
    fields: () => [
      { name: 'name', label: 'Name', kind: 'text', required: true },
      {
        name: 'role',
        label: 'Role',
        kind: 'select',
        required: true,
        options: ['owner', 'admin', 'member', 'viewer'].map((value) => ({ value, label: value })),
      },
      { name: 'scopes', label: 'Scopes', kind: 'checkboxes', options: everyScope },
      { name: 'expires_at', label: 'Expires', kind: 'instant', help: 'In UTC. Leave blank for no expiry.' },
    ],
    load: async () => ({ name: 'Owner', role: 'owner', scopes: everyScope.map(({ value }) => value) }),
    check: withoutScopes,
    call: `POST ${apiPath}/keys`,
    async show({ params }, { secret }) {
      const back = buttonTo(pathOf(orgPath, params), 'Back to organization');
      const box = secretBox('The new API key.', secret);
      return view({ title: 'API key created', actions: back })`
${box}`;
    },
  }),
  ...formScreens({
    path: `${orgPath}/plan`,
    audience: 'operator',
    title: 'Plan',
    submit: 'Save',
    back: orgPath,
    async fields({ api, params }) {
      const [{ data }, { plan }] = await Promise.all([
        api.get<'plans.list'>('/v1/admin/plans?sort=name&limit=200'),
        api.get<'orgs.plan.read'>(pathOf(`${apiPath}/plan`, params)),
      ]);
      const isListed = plan === null || data.some(({ id }) => id === plan.id);
      return [
        {
          name: 'plan_id',
          label: 'Plan',
          kind: 'select',
          whenEmpty: 'null',
          options: [
            { value: '', label: 'No plan' },
            ...(isListed ? data : [...data, plan]).map(({ id, name }) => ({ value: id, label: name })),
          ],
        },
      ];
    },
    load: async ({ api, params }) => ({
      plan_id: (await api.get<'orgs.plan.read'>(pathOf(`${apiPath}/plan`, params))).plan_id ?? '',
    }),
    call: `PUT ${apiPath}/plan`,
  }),
  ...formScreens({
    path: `${orgPath}/top-up`,
    audience: 'operator',
    title: 'Top up',
    intro: 'Adds to the prepaid balance of the organization.',
    submit: 'Top up',
    back: orgPath,
    fields: () => [
      { name: 'amount_usd', label: 'Amount', kind: 'money', required: true },
      { name: 'reference', label: 'Reference', kind: 'text', help: 'For example an invoice number.' },
    ],
    call: `POST ${apiPath}/prepaid/top-ups`,
    done: 'topped_up',
  }),
  ...(['on', 'off'] as const).map((state) =>
    actionScreen({
      path: `${orgPath}/prepaid/${state}`,
      audience: 'operator',
      call: `PUT ${apiPath}/prepaid`,
      body: () => ({ enabled: state === 'on' }),
      done: 'saved',
      back: orgPath,
    }),
  ),
];

function found({ api, params }: ScreenVisit): Promise<OrgResponse> {
  return api.get<'orgs.read'>(pathOf(apiPath, params));
}

function statusBadge({ status }: Pick<OrgResponse, 'status'>): Markup {
  return badge(capitalized(status), status === 'active' ? 'good' : 'bad');
}

async function list(visit: ScreenVisit) {
  const { api, query, now } = visit;
  const create = (label: string) => linkButton(visit, { path: `${listPath}/new`, label, tone: 'primary' });
  const listed = await api.get<'orgs.summaries.list'>(
    link('/v1/admin/org-summaries', {
      ...filterQuery(query),
      sort: query.get('sort') || defaultSort,
      limit: '50',
    }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No organizations yet',
      'An organization has its own API keys, runs and limits.',
      create('Create organization'),
    ),
    caption: 'Organizations',
    columns: [
      {
        title: 'Name',
        cell: (org) => html`<a href="${path`/console/orgs/${org.id}`}">${org.name}</a>${subline(org.slug)}`,
      },
      ...figureColumns(now),
      { title: 'Created', cell: (org) => nowrap(day(org.created_at, 'UTC')) },
      { title: 'Status', cell: statusBadge },
    ],
  });
  return view({ title: 'Organizations', actions: create('Create organization') })`
${filterBar(listPath, filters, query)}${card('Organizations', html`${body}${asOf(listed.data)}`)}`;
}

async function one(visit: ScreenVisit) {
  const { api, params, now } = visit;
  const here = pathOf(orgPath, params);
  const to = (target: string, label: string, tone?: Action['tone']) =>
    linkButton(visit, { path: `${here}/${target}`, label, ...(tone && { tone }) });
  const ask = (target: string, label: string, question: string) =>
    confirmButton(visit, { path: `${here}/${target}`, label }, question);
  const [org, figures, grants, plan, prepaid, rates] = await Promise.all([
    found(visit),
    api.tryGet<'orgs.summary.read'>(pathOf(`${apiPath}/summary`, params)),
    api.tryGet<'support.grants.list'>(
      link('/v1/admin/support/grants', { org_id: params.org_id, sort: '-created_at', limit: '50' }),
    ),
    api.tryGet<'orgs.plan.read'>(pathOf(`${apiPath}/plan`, params)),
    api.tryGet<'orgs.prepaid.read'>(pathOf(`${apiPath}/prepaid`, params)),
    api.tryGet<'orgs.rate_limits.read'>(pathOf(`${apiPath}/rate-limits`, params)),
  ]);
  const actions = [
    openConsoleButton(visit, org.id, grants),
    to('edit', 'Edit'),
    to('key', 'Create API key'),
    buttonTo(`${here}/prices`, 'Custom prices'),
  ];
  const isActive = org.status === 'active';
  const reinstate: Action = { path: `${here}/reinstate`, label: 'Reinstate organization', tone: 'primary' };
  return view({ title: org.name, actions })`
${figureStats(figures, now)}
${card(
  'Organization',
  definitionList([
    ['Status', html`${statusBadge(org)} ${org.suspension_reason}`],
    ['ID', html`<code>${org.id}</code>`],
    ['Slug', html`<code>${org.slug}</code>`],
    ['Time zone', org.timezone],
    ['Created', time(org.created_at, 'UTC')],
  ]),
)}
${cardOf('Plan', plan, (answer) => withAction(planText(answer), to('plan', 'Change plan')))}
${cardOf('Prepaid', prepaid, ({ enabled, topped_up_usd }) =>
  withAction(
    html`${enabled ? badge('enabled', 'info') : badge('disabled')} ${exactUsd(topped_up_usd)} total top-ups.`,
    to('top-up', 'Top up'),
    enabled
      ? ask('prepaid/off', 'Disable prepaid', 'Runs will no longer be charged to the balance.')
      : ask('prepaid/on', 'Enable prepaid', 'Runs that the balance does not cover will be blocked.'),
  ),
)}
${card('Data region', withAction(regionText(org), to('residency', 'Change data region')))}
${cardOf('Rate limits', rates, (answer) => withAction(rateText(answer), to('rates', 'Change rate limits')))}
${card(
  'Account recovery',
  withAction(
    'For an organization that has locked itself out by its IP allowlist.',
    ask('clear-addresses', 'Clear IP allowlist', 'The organization can then be used from any IP address.'),
  ),
)}
${card(
  isActive ? 'Suspend' : 'Reinstate',
  isActive
    ? withAction(
        'Blocks all API and console access. Nothing is deleted.',
        to('suspend', 'Suspend organization', 'danger'),
      )
    : withAction('Restores API and console access.', actionButton(visit, reinstate)),
)}
${card(
  'Remove',
  withAction(
    `Deletes all data of the organization: runs, limits, API keys and the audit log.${isActive ? ' Suspend it first.' : ''}`,
    to('remove', 'Remove organization', 'danger'),
  ),
)}`;
}

function withAction(text: Part, ...actions: Part[]): Markup {
  return html`<p>${text}</p><div class="form-end">${actions}</div>`;
}

function planText({ plan }: Responses['orgs.plan.read']): string {
  if (plan === null) {
    return 'No plan.';
  }
  return `${plan.name}: ${plan.monthly_runs === null ? 'unlimited' : count(plan.monthly_runs)} runs per month.`;
}

function regionText({ home_region, residency_mode }: OrgResponse): string {
  return home_region === null
    ? 'No data region.'
    : `${home_region}. Requests to other regions are ${residency_mode === 'strict' ? 'blocked' : 'forwarded'}.`;
}

function rateText({ read_rpm, policies }: Responses['orgs.rate_limits.read']): string {
  const reads = read_rpm === null ? 'Default read limit' : `${count(read_rpm)} read requests per minute`;
  const names = policies.map(({ name }) => name).join(', ');
  return `${reads}; ${names === '' ? 'no other rate limits or quotas' : `rate limits and quotas: ${names}`}.`;
}
