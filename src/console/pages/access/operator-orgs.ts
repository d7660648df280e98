/** For operators: every organization, and what only they may do to one. */
import type { Responses } from '../../../contract/views/responses.ts';
import {
  type Action,
  actionButton,
  askFirst,
  badge,
  card,
  cardOf,
  definitionList,
  empty,
  heading,
  linkButton,
  secretBox,
} from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, day, exactUsd, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { withoutScopes } from './keys.ts';
import { everyScope } from './operator-scopes.ts';

const listPath = '/console/orgs';
const orgPath = `${listPath}/{org_id}`;
const apiPath = '/v1/admin/orgs/{org_id}';

type OrgView = Responses['orgs.read'];

const filters: readonly Filter[] = [
  { name: 'name', label: 'Name' },
  { name: 'slug', label: 'Short name' },
  {
    name: 'status',
    label: 'State',
    options: ['active', 'suspended'].map((value) => ({ value, label: value })),
  },
];

const orgFields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'slug', label: 'Short name', kind: 'text', help: 'Empty: made from the name.' },
  { name: 'timezone', label: 'Time zone', kind: 'text', placeholder: 'UTC', help: 'Such as Europe/Lisbon.' },
  { name: 'home_region', label: 'Home region', kind: 'text', help: 'Empty: at home everywhere.' },
];

export const operatorOrgScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens<'orgs.create'>({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'New organization',
    submit: 'Create it',
    back: listPath,
    fields: () => orgFields,
    call: 'POST /v1/admin/orgs',
    // Its page has what comes next: its first key.
    show: async (_visit, { id }) => seeOther(link(path`/console/orgs/${id}`, { done: 'org_created' })),
  }),
  { path: orgPath, audience: 'operator', handler: one },
  ...formScreens({
    path: `${orgPath}/edit`,
    audience: 'operator',
    title: 'Change the organization',
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
    title: 'Suspend the organization',
    intro: 'Every request of its keys and people is refused until it is reinstated. Nothing is deleted.',
    submit: 'Suspend it',
    back: orgPath,
    fields: () => [{ name: 'reason', label: 'Reason', kind: 'text', help: 'Kept with the organization.' }],
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
  actionScreen({
    path: `${orgPath}/remove`,
    audience: 'operator',
    call: `DELETE ${apiPath}`,
    done: 'org_removed',
    back: listPath,
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
    title: 'Mint a key in the organization',
    intro: 'The first key of an organization comes from here. An owner mints the others.',
    submit: 'Mint the key',
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
      { name: 'expires_at', label: 'Expires', kind: 'instant', help: 'In UTC. Empty: never.' },
    ],
    load: async () => ({ name: 'Owner', role: 'owner', scopes: everyScope.map(({ value }) => value) }),
    check: withoutScopes,
    call: `POST ${apiPath}/keys`,
    show: async ({ params }, { secret }) =>
      view(
        'The key',
        html`${heading('The key', html`<a class="button" href="${pathOf(orgPath, params)}">Back to the organization</a>`)}${secretBox('The key was minted.', secret)}`,
      ),
  }),
  ...formScreens({
    path: `${orgPath}/plan`,
    audience: 'operator',
    title: 'Plan of the organization',
    submit: 'Save',
    back: orgPath,
    async fields({ api }) {
      const { data } = await api.get<'plans.list'>('/v1/admin/plans?sort=name&limit=200');
      return [
        {
          name: 'plan_id',
          label: 'Plan',
          kind: 'select',
          whenEmpty: 'null',
          options: [
            { value: '', label: 'none' },
            ...data.map(({ id, name }) => ({ value: id, label: name })),
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
    intro: 'Adds to what the organization has paid in advance.',
    submit: 'Top up',
    back: orgPath,
    fields: () => [
      { name: 'amount_usd', label: 'Amount', kind: 'money', required: true },
      { name: 'reference', label: 'Reference', kind: 'text', help: 'Such as the number of the invoice.' },
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

function found({ api, params }: ScreenVisit): Promise<OrgView> {
  return api.get<'orgs.read'>(pathOf(apiPath, params));
}

function stateBadge({ status }: OrgView): Markup {
  return badge(status, status === 'active' ? 'good' : 'bad');
}

async function list(visit: ScreenVisit) {
  const { api, query } = visit;
  const create = (label: string) => linkButton(visit, { path: `${listPath}/new`, label, tone: 'primary' });
  const listed = await api.get<'orgs.list'>(
    link('/v1/admin/orgs', { ...filterQuery(query), sort: '-created_at', limit: '50' }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No organization yet',
      'An organization has its own keys, runs and limits.',
      create('Create one'),
    ),
    caption: 'Organizations',
    columns: [
      {
        title: 'Name',
        cell: (org) =>
          html`<a href="${path`/console/orgs/${org.id}`}">${org.name}</a><span class="sub"><code>${org.id}</code></span>`,
      },
      { title: 'Short name', cell: (org) => org.slug },
      { title: 'Home', cell: (org) => org.home_region ?? 'everywhere' },
      { title: 'Time zone', cell: (org) => org.timezone },
      {
        title: 'Since',
        cell: (org) => html`<span class="nowrap">${day(org.created_at, 'UTC')}</span>`,
      },
      { title: 'State', cell: stateBadge },
    ],
  });
  return view(
    'Organizations',
    html`${heading('Organizations', create('New organization'))}
${filterBar(listPath, filters, query)}${card('Latest first', body)}`,
  );
}

async function one(visit: ScreenVisit) {
  const { api, params } = visit;
  const here = pathOf(orgPath, params);
  const to = (path: string, label: string, tone?: Action['tone']) =>
    linkButton(visit, { path, label, ...(tone && { tone }) });
  const [org, plan, prepaid, rates] = await Promise.all([
    found(visit),
    api.tryGet<'orgs.plan.read'>(pathOf(`${apiPath}/plan`, params)),
    api.tryGet<'orgs.prepaid.read'>(pathOf(`${apiPath}/prepaid`, params)),
    api.tryGet<'orgs.rate_limits.read'>(pathOf(`${apiPath}/rate-limits`, params)),
  ]);
  return view(
    org.name,
    html`${heading(org.name, html`${to(`${here}/edit`, 'Change')}${to(`${here}/key`, 'Mint a key')}<a class="button" href="${here}/prices">Its own prices</a>${to(link('/console/grants/new', { org_id: org.id }), 'Ask for access')}`)}
${card(
  'Organization',
  definitionList([
    ['State', html`${stateBadge(org)} ${org.suspension_reason}`],
    ['Id', html`<code>${org.id}</code>`],
    ['Short name', html`<code>${org.slug}</code>`],
    ['Time zone', org.timezone],
    ['Since', time(org.created_at, 'UTC')],
  ]),
)}
${cardOf('Plan', plan, (answer) => html`<p>${answer.plan === null ? 'On no plan.' : `${answer.plan.name}: ${answer.plan.monthly_runs === null ? 'any number of' : count(answer.plan.monthly_runs)} runs a month.`}</p><p class="form-end">${to(`${here}/plan`, 'Change the plan')}</p>`)}
${cardOf('Prepaid', prepaid, ({ enabled, topped_up_usd }) => html`<p>${badge(enabled ? 'pays in advance' : 'does not pay in advance', enabled ? 'info' : 'plain')} ${exactUsd(topped_up_usd)} topped up in all.</p><div class="form-end">${to(`${here}/top-up`, 'Top up')}${enabled ? askFirst(visit, { path: `${here}/prepaid/off`, label: 'Turn it off' }, 'Its runs are no longer held against the balance.') : askFirst(visit, { path: `${here}/prepaid/on`, label: 'Turn it on' }, 'Runs are refused from now on where the balance does not cover them.')}</div>`)}
${card('Home', html`<p>${org.home_region === null ? 'At home everywhere.' : `At home in ${org.home_region}. What arrives elsewhere is ${org.residency_mode === 'strict' ? 'refused' : 'sent there'}.`}</p><p class="form-end">${to(`${here}/residency`, 'Change the home')}</p>`)}
${cardOf('Rates', rates, ({ read_rpm, policies }) => html`<p>${read_rpm === null ? 'Reads as the deployment says' : `${count(read_rpm)} reads in a minute`}; ${policies.length === 0 ? 'no rates or quotas' : `rates and quotas: ${policies.map(({ name }) => name).join(', ')}`}.</p><p class="form-end">${to(`${here}/rates`, 'Change the rates')}</p>`)}
${card('Way in', html`<p>For an organization that has locked itself out by its list of allowed addresses.</p><div class="form-end">${askFirst(visit, { path: `${here}/clear-addresses`, label: 'Clear its list of addresses' }, 'Its keys and people may then call from anywhere.')}</div>`)}
${card(org.status === 'active' ? 'Suspend' : 'Reinstate', org.status === 'active' ? html`<p>Refuses everything its keys and people ask, and deletes nothing.</p><div class="form-end">${to(`${here}/suspend`, 'Suspend it', 'danger')}</div>` : html`<p>Its keys and people may call again.</p><div class="form-end">${actionButton(visit, { path: `${here}/reinstate`, label: 'Reinstate it', tone: 'primary' })}</div>`)}
${org.status === 'suspended' && card('Remove', html`<p>Deletes all it has stored: runs, limits, keys, its audit log. It cannot be undone.</p><div class="form-end">${askFirst(visit, { path: `${here}/remove`, label: 'Remove it' }, html`Nothing of “${org.name}” can be brought back.`)}</div>`)}`,
  );
}
