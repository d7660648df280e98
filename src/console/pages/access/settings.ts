/** The organization itself: its name and time zone, from where it may be called, where its data lives, its plan. */
import type { Responses } from '../../../contract/views/responses.ts';
import { badge, cardOf, definitionList, heading, linkButton, table } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { count, day, inUnit, seconds } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { scopeName } from '../../limit-names.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

type OrgView = Responses['org.read'];

const timezones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')].map(
  (value) => ({ value, label: value.replaceAll('_', ' ') }),
);

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
        label: 'Short name',
        kind: 'text',
        required: true,
        help: 'Stands in the address at which people sign in by SSO.',
      },
      {
        name: 'timezone',
        label: 'Time zone',
        kind: 'select',
        required: true,
        options: timezones,
        help: 'Days, weeks and months of limits begin at midnight there. Windows that have begun are not moved.',
      },
    ],
    async load({ api, org }) {
      const { name, slug, timezone } = await api.get<'org.read'>(org.path);
      return { name, slug, timezone };
    },
    call: 'PATCH {org}',
  }),
  ...formScreens({
    path: `${settingsPath}/addresses`,
    title: 'Allowed addresses',
    intro:
      'From where the API and the console may be used. Whoever calls from elsewhere is refused, with whatever key.',
    submit: 'Save',
    back: settingsPath,
    fields: () => [
      {
        name: 'cidrs',
        label: 'Networks',
        kind: 'list',
        help: 'One a line, such as 203.0.113.0/24 or 2001:db8::/32. Empty: any address.',
      },
      {
        name: 'force',
        label: 'Also if it locks out the address that I use now',
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
  return view(
    'Settings',
    html`${heading('Settings')}${settingsTabs('')}
${cardOf('Organization', read, (found) => organization(found, visit))}
${cardOf('Allowed addresses', allowed, (found) => addresses(found, visit))}
${cardOf('Plan', plan, planFacts)}
${cardOf('Home', read, home)}
${cardOf('Rates and quotas', rates, ({ data, read_rpm }) => html`${readLimit(read_rpm)}${rateTable(data)}`)}`,
  );
}

function organization({ id, name, slug, timezone, created_at }: OrgView, visit: ScreenVisit): Markup {
  return html`${definitionList([
    ['Name', name],
    ['Id', html`<code>${id}</code>`],
    ['Short name', html`<code>${slug}</code>`],
    ['Time zone', timezone],
    ['Since', day(created_at, visit.org.timezone)],
  ])}<p class="form-end">${linkButton(visit, { path: `${settingsPath}/organization`, label: 'Change name or time zone' })}</p>`;
}

function addresses({ cidrs }: Responses['org.ip_allow_list.read'], visit: ScreenVisit): Markup {
  return html`<p>${cidrs.length === 0 ? html`${badge('any address')} Keys and sessions work from everywhere.` : cidrs.map((cidr) => html`<code>${cidr}</code> `)}</p>
<p class="form-end">${linkButton(visit, { path: `${settingsPath}/addresses`, label: 'Change the list' })}</p>`;
}

function home({ home_region, residency_mode }: OrgView): Markup {
  return home_region === null
    ? html`<p>${badge('everywhere')} No region is named for it, so each one serves it.</p>`
    : html`<p>${badge(home_region, 'info')} Its data are kept there. What arrives in another region is ${residency_mode === 'strict' ? 'refused' : 'sent there'}.</p>`;
}

function readLimit(readRpm: number | null): Markup {
  return html`<p>${readRpm === null ? 'Any number of reads.' : `${count(readRpm)} reads in a minute, by all keys and people together.`} <span class="quiet">Operators of the service set this and what follows.</span></p>`;
}

function rateTable(rates: Responses['rate_limit_policies.list']['data']): Part {
  return rates.length === 0
    ? html`<p class="quiet">No other rate, and no quota.</p>`
    : table({
        caption: 'Rates and quotas',
        rows: rates,
        columns: [
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Kind', cell: ({ kind }) => kind },
          { title: 'Counts', cell: ({ match }) => scopeName(match) || 'everything' },
          { title: 'Limit', isNumber: true, cell: ({ unit, limit }) => inUnit(unit, limit) },
          { title: 'Of', cell: ({ unit }) => unit },
          { title: 'In', cell: ({ window_seconds }) => seconds(window_seconds) },
        ],
      });
}

function planFacts({ plan }: Responses['plan.read']): Part {
  const upTo = (limit: number | null) => (limit === null ? 'unlimited' : count(limit));
  return plan === null
    ? html`<p class="quiet">On no plan: runs and tokens are not limited by one.</p>`
    : definitionList([
        ['Plan', plan.name],
        ['Runs a month', upTo(plan.monthly_runs)],
        ['Tokens a month', upTo(plan.monthly_tokens)],
        ['Beyond', plan.overage_policy === 'block' ? 'refused' : 'allowed'],
      ]);
}
