/** Settings of the organization: name, time zone, IP allowlist, plan, data region and rate limits. */
import { linkButton } from '../../buttons.ts';
import { cardOf, definitionList } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { count, day, inUnit, seconds } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge, chip, codeList } from '../../inline.ts';
import { scopeName } from '../../limit-names.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

type OwnOrgResponse = Responses['org.read'];

const timezones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')].map(
  (value) => ({ value, label: value.replaceAll('_', ' ') }),
);

const unsettledLabels: Readonly<Record<OwnOrgResponse['on_unsettled'], string>> = {
  release: 'Release the reserved amount',
  post_held: 'Charge the reserved amount',
};

export const settingsScreens: readonly Screen[] = [
  { path: settingsPath, audience: 'org', handler: overview },
  ...formScreens({
    path: `${settingsPath}/organization`,
    title: 'Organization',
    submit: 'Save',
    back: settingsPath,
    fields: () => [
      { name: 'name', label: 'Name', kind: 'text', required: true },
      {
        name: 'slug',
        label: 'Slug',
        kind: 'text',
        required: true,
        help: 'Part of the SSO sign-in URL.',
      },
      {
        name: 'timezone',
        label: 'Time zone',
        kind: 'select',
        required: true,
        options: timezones,
        help: 'Periods of limits start at midnight in this zone. Current periods do not change.',
      },
      {
        name: 'on_unsettled',
        label: 'Reservations that expire unsettled',
        kind: 'select',
        required: true,
        options: Object.entries(unsettledLabels).map(([value, label]) => ({ value, label })),
        help: 'Charge the reserved amount if calls are made even when their callers crash or forget to report the cost. A late report corrects it.',
      },
    ],
    async load({ api, org }) {
      const { name, slug, timezone, on_unsettled } = await api.get<'org.read'>(org.path);
      return { name, slug, timezone, on_unsettled };
    },
    call: 'PATCH {org}',
  }),
  ...formScreens({
    path: `${settingsPath}/addresses`,
    title: 'IP allowlist',
    intro: 'IP addresses that may use the API and the console. All others are denied.',
    submit: 'Save',
    back: settingsPath,
    fields: () => [
      {
        name: 'cidrs',
        label: 'Networks',
        kind: 'list',
        help: 'One per line, such as 203.0.113.0/24 or 2001:db8::/32. Leave blank to allow any IP address.',
      },
      {
        name: 'force',
        label: 'Save even if this blocks my current IP address',
        kind: 'checkbox',
      },
    ],
    load: async ({ api, org }) => ({
      cidrs: (await api.get<'org.ip_allow_list.read'>(`${org.path}/ip-allow-list`)).cidrs,
    }),
    call: 'PUT {org}/ip-allow-list',
  }),
];

async function overview(visit: ScreenVisit) {
  const { api, org } = visit;
  const [read, allowed, plan, rates] = await Promise.all([
    api.tryGet<'org.read'>(org.path),
    api.tryGet<'org.ip_allow_list.read'>(`${org.path}/ip-allow-list`),
    api.tryGet<'plan.read'>(`${org.path}/plan`),
    api.tryGet<'rate_limit_policies.list'>(`${org.path}/rate-limit-policies?limit=200`),
  ]);
  return view({ title: 'Settings' })`
${settingsTabs('', visit)}
${cardOf('Organization', read, (found) => organization(found, visit))}
${cardOf('IP allowlist', allowed, (found) => allowlist(found, visit))}
${cardOf('Plan', plan, planDetails)}
${cardOf('Data region', read, dataRegion)}
${cardOf('Rate limits and quotas', rates, ({ data, read_rpm }) => html`${readLimit(read_rpm)}${rateTable(data)}`)}`;
}

function organization(org: OwnOrgResponse, visit: ScreenVisit): Markup {
  const { id, name, slug, timezone, on_unsettled, created_at } = org;
  return html`${definitionList([
    ['Name', name],
    ['ID', html`<code>${id}</code>`],
    ['Slug', html`<code>${slug}</code>`],
    ['Time zone', timezone],
    ['Reservations that expire unsettled', unsettledLabels[on_unsettled]],
    ['Created', day(created_at, visit.org.timezone)],
  ])}<p class="form-end">${linkButton(visit, { path: `${settingsPath}/organization`, label: 'Edit' })}</p>`;
}

function allowlist({ cidrs }: Responses['org.ip_allow_list.read'], visit: ScreenVisit): Markup {
  return html`<p>${cidrs.length === 0 ? html`${badge('Any IP address')}` : codeList(cidrs)}</p>
<p class="form-end">${linkButton(visit, { path: `${settingsPath}/addresses`, label: 'Edit IP allowlist' })}</p>`;
}

function dataRegion({ home_region, residency_mode }: OwnOrgResponse): Markup {
  return home_region === null
    ? html`<p>No data region set. All regions serve this organization.</p>`
    : html`<p>${chip(home_region, 'info')} Data is stored in this region.
Requests to other regions are ${residency_mode === 'strict' ? 'blocked' : 'forwarded'}.</p>`;
}

function readLimit(readRpm: number | null): Markup {
  const limit =
    readRpm === null
      ? 'Unlimited read requests.'
      : `${count(readRpm)} read requests per minute for the organization.`;
  return html`<p>${limit} <span class="quiet">Managed by your operator.</span></p>`;
}

function rateTable(rates: Responses['rate_limit_policies.list']['data']): Part {
  return rates.length === 0
    ? html`<p class="quiet">No other rate limits or quotas.</p>`
    : table({
        caption: 'Rate limits and quotas',
        rows: rates,
        columns: [
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Type', cell: ({ kind }) => kind },
          { title: 'Scope', cell: ({ match }) => scopeName({ ...match }) || 'all requests' },
          { title: 'Limit', isNumber: true, cell: ({ unit, limit }) => inUnit(unit, limit) },
          { title: 'Unit', cell: ({ unit }) => (unit === 'concurrent' ? 'in flight' : unit) },
          {
            title: 'Period',
            cell: ({ window_seconds }) => (window_seconds === 0 ? '–' : seconds(window_seconds)),
          },
        ],
      });
}

function planDetails({ plan }: Responses['plan.read']): Part {
  const upTo = (limit: number | null) => (limit === null ? 'unlimited' : count(limit));
  return plan === null
    ? html`<p class="quiet">No plan (unlimited runs and tokens).</p>`
    : definitionList([
        ['Plan', plan.name],
        ['Runs per month', upTo(plan.monthly_runs)],
        ['Tokens per month', upTo(plan.monthly_tokens)],
        ['Overage', plan.overage_policy === 'block' ? 'Blocked' : 'Allowed'],
      ]);
}
