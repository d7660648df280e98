/** For operators: spend, balance, activity and nearness to limits of organizations. */
import type { ApiFailure } from '../../api.ts';
import { meter } from '../../charts/meter.ts';
import { statOf } from '../../components.ts';
import type { Filter } from '../../filters.ts';
import { ago, count, humanize, time, usd } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { subline } from '../../inline.ts';
import type { Item, Responses } from '../../responses.ts';
import type { Column } from '../../table.ts';

export type OrgFigures = Item<'orgs.summaries.list'>;

/** The API leaves out limits of a scope, such as those of a team or a customer. */
const nearestTitle = 'Nearest organization-wide limit';
const noneNearest = 'No organization-wide limit';

/** The default order of the list. */
export const defaultSort = '-spend_usd';
export const sortFilter: Filter = {
  name: 'sort',
  label: 'Sort by',
  all: 'Highest spend',
  options: [
    { value: '-used_percent', label: nearestTitle },
    { value: '-last_active_at', label: 'Last activity' },
    { value: '-runs', label: 'Most runs' },
    { value: 'name', label: 'Name' },
    { value: '-created_at', label: 'Newest' },
  ],
};

export function figureColumns(now: Date): readonly Column<OrgFigures>[] {
  return [
    { title: 'Spend this month', isNumber: true, cell: ({ spend_usd }) => usd(spend_usd) },
    { title: 'Runs', isNumber: true, cell: ({ runs }) => count(runs) },
    { title: 'Prepaid balance', isNumber: true, cell: (one) => usd(one.prepaid_balance_usd) },
    { title: nearestTitle, cell: nearest },
    { title: 'Last activity', cell: ({ last_active_at }) => ago(last_active_at, now) },
  ];
}

function nearest({ name, nearest_limit }: Pick<OrgFigures, 'name' | 'nearest_limit'>): Part {
  if (nearest_limit === null) {
    return html`<span class="quiet">${noneNearest}</span>`;
  }
  const { kind, used_percent } = nearest_limit;
  const format = (value: number) => `${value}%`;
  return [
    meter({ label: `${name}, ${humanize(kind)}`, settled: used_percent, held: 0, limit: 100, format }),
    subline(`${used_percent}% of ${humanize(kind)}`),
  ];
}

/** A note about the age of the figures, if there are any. */
export function asOf(figures: readonly OrgFigures[]): Markup | false {
  const oldest = figures
    .flatMap(({ as_of }) => as_of ?? [])
    .toSorted()
    .at(0);
  return (
    oldest !== undefined &&
    html`<p class="quiet">As of ${time(oldest, 'UTC')} UTC or later; refreshed every five minutes. Months are those of the time zone of each organization.</p>`
  );
}

/** The figures of one organization. */
export function figureStats(found: Responses['orgs.summary.read'] | ApiFailure, now: Date): Markup {
  return html`<div class="stats">${statOf(
    'Spend this month',
    found,
    ({ spend_usd }) => usd(spend_usd),
    ({ runs }) => `${count(runs)} runs`,
  )}
${statOf(
  'Prepaid balance',
  found,
  ({ prepaid_balance_usd }) => usd(prepaid_balance_usd),
  ({ prepaid_balance_usd }) => (prepaid_balance_usd === null ? 'Prepaid is disabled' : 'Remaining'),
)}
${statOf(
  nearestTitle,
  found,
  ({ nearest_limit }) => (nearest_limit === null ? '–' : `${nearest_limit.used_percent}%`),
  ({ nearest_limit }) => (nearest_limit === null ? noneNearest : `of ${humanize(nearest_limit.kind)}`),
)}
${statOf('Last activity', found, ({ last_active_at }) => ago(last_active_at, now))}</div>`;
}
