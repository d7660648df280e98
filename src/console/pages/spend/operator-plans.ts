/** For operators: plans, which limit an organization's runs and tokens a month. */
import { badge, card, empty, heading, linkButton } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { count, day } from '../../format.ts';
import { html, link } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';

const listPath = '/console/plans';

export const operatorPlanScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'New plan',
    intro: 'A plan is not changed later: organizations are moved to another one.',
    submit: 'Create the plan',
    back: listPath,
    fields: () => [
      { name: 'name', label: 'Name', kind: 'text', required: true },
      { name: 'monthly_runs', label: 'Runs a month', kind: 'number', help: 'Empty: unlimited.' },
      { name: 'monthly_tokens', label: 'Tokens a month', kind: 'number', help: 'Empty: unlimited.' },
      {
        name: 'overage_policy',
        label: 'Beyond that',
        kind: 'select',
        required: true,
        options: [
          { value: 'block', label: 'refuse' },
          { value: 'allow', label: 'allow, and count' },
        ],
      },
    ],
    call: 'POST /v1/admin/plans',
    done: 'plan_created',
  }),
];

async function list(visit: ScreenVisit) {
  const { api, query } = visit;
  const create = linkButton(visit, { path: `${listPath}/new`, label: 'New plan', tone: 'primary' });
  const listed = await api.get<'plans.list'>(
    link('/v1/admin/plans', { ...filterQuery(query), sort: 'name', limit: '50' }),
  );
  const upTo = (limit: number | null) => (limit === null ? 'unlimited' : count(limit));
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No plans yet', 'A plan limits what an organization may use in a month.', create),
    caption: 'Plans',
    columns: [
      {
        title: 'Plan',
        cell: (plan) => html`${plan.name}<span class="sub"><code>${plan.id}</code></span>`,
      },
      { title: 'Runs a month', isNumber: true, cell: (plan) => upTo(plan.monthly_runs) },
      { title: 'Tokens a month', isNumber: true, cell: (plan) => upTo(plan.monthly_tokens) },
      {
        title: 'Beyond',
        cell: (plan) =>
          plan.overage_policy === 'block' ? badge('refused', 'bad') : badge('allowed', 'warn'),
      },
      {
        title: 'Made',
        cell: (plan) => html`<span class="nowrap">${day(plan.created_at, 'UTC')}</span>`,
      },
    ],
  });
  return view('Plans', html`${heading('Plans', create)}${card('By name', body)}`);
}
