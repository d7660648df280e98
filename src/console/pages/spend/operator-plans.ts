/** For operators: plans, which limit the runs and tokens of an organization per month. */
import { linkButton } from '../../buttons.ts';
import { card, empty } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { count, day } from '../../format.ts';
import { html, link } from '../../html.ts';
import { badge, nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';

const listPath = '/console/plans';

export const operatorPlanScreens: readonly Screen[] = [
  { path: listPath, audience: 'operator', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    audience: 'operator',
    title: 'Create plan',
    intro: 'Plans cannot be edited. Assign organizations to a new plan instead.',
    submit: 'Create plan',
    back: listPath,
    fields: () => [
      { name: 'name', label: 'Name', kind: 'text', required: true },
      { name: 'monthly_runs', label: 'Runs per month', kind: 'number', help: 'Leave blank for unlimited.' },
      {
        name: 'monthly_tokens',
        label: 'Tokens per month',
        kind: 'number',
        help: 'Leave blank for unlimited.',
      },
      {
        name: 'overage_policy',
        label: 'Overage',
        kind: 'select',
        required: true,
        options: [
          { value: 'block', label: 'Block requests' },
          { value: 'allow', label: 'Allow and count' },
        ],
      },
    ],
    call: 'POST /v1/admin/plans',
    done: 'plan_created',
  }),
];

async function list(visit: ScreenVisit) {
  const { api, query } = visit;
  const create = linkButton(visit, { path: `${listPath}/new`, label: 'Create plan', tone: 'primary' });
  const listed = await api.get<'plans.list'>(
    link('/v1/admin/plans', { ...filterQuery(query), sort: 'name', limit: '50' }),
  );
  const upTo = (limit: number | null) => (limit === null ? 'unlimited' : count(limit));
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No plans yet', 'A plan limits the monthly usage of an organization.', create),
    caption: 'Plans',
    columns: [
      { title: 'Plan', cell: (plan) => html`${plan.name}<span class="sub"><code>${plan.id}</code></span>` },
      { title: 'Runs per month', isNumber: true, cell: (plan) => upTo(plan.monthly_runs) },
      { title: 'Tokens per month', isNumber: true, cell: (plan) => upTo(plan.monthly_tokens) },
      {
        title: 'Overage',
        cell: (plan) => (plan.overage_policy === 'block' ? badge('block', 'bad') : badge('allow', 'warn')),
      },
      { title: 'Created', cell: (plan) => nowrap(day(plan.created_at, 'UTC')) },
    ],
  });
  return view({ title: 'Plans', actions: create })`
${card('Plans', body)}`;
}
