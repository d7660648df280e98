/** The usage of a limit that counts each value separately, such as a budget for each member. */
import { ApiFailure } from '../../api.ts';
import { nextPage, requirement } from '../../components.ts';
import { daysOf } from '../../day-range.ts';
import { matchFilters, runsLink } from '../../drill-down.ts';
import { capitalized, inUnit } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { fieldName, limitPath, remaining, stateBadge, usageMeter } from '../../limit-names.ts';
import { keysById, memberNames } from '../../names.ts';
import type { Item } from '../../responses.ts';
import type { ScreenVisit } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitResponse } from '../../views.ts';

type LimitValueItem = Item<'limits.values'>;

/** Returns a table of the values with usage in the current period of the limit. */
export async function limitValues(limit: LimitResponse, field: string, visit: ScreenVisit): Promise<Markup> {
  const { api, org, query } = visit;
  const listed = await api.tryGet<'limits.values'>(
    link(org.path + path`/limits/${limit.id}/values`, {
      limit: '50',
      cursor: query.get('cursor') ?? undefined,
    }),
  );
  if (listed instanceof ApiFailure) {
    return html`<p>${requirement(listed)}</p>`;
  }
  const rowName = await namesOf(
    listed.data.map(({ values }) => values[field] ?? ''),
    field,
    visit,
  );
  const rows =
    listed.data.length === 0
      ? html`<p class="quiet">Nothing was spent in this period.</p>`
      : table({
          caption: `Usage per ${fieldName(field)}`,
          rows: listed.data,
          columns: [
            { title: capitalized(fieldName(field)), cell: (row) => runsOf(limit, row, rowName(row), visit) },
            {
              title: 'Used',
              cell: (row) => usageMeter({ ...limitOfValue(limit, row), name: rowName(row) }, row.standing),
            },
            {
              title: 'Remaining',
              isNumber: true,
              cell(row) {
                const own = limitOfValue(limit, row);
                return html`${remaining(own, row.standing)} ${stateBadge(own)}<span class="sub">of ${inUnit(limit.unit, own.limit)}</span>`;
              },
            },
          ],
        });
  return html`${rows}${nextPage(limitPath(limit), query, listed.next_cursor)}`;
}

/** The limit with the usage of one value, and the raises of this value. */
function limitOfValue(limit: LimitResponse, { standing, state }: LimitValueItem): LimitResponse {
  const raised = Number(standing.raised_usd ?? 0);
  return { ...limit, standing, state, ...(raised > 0 && { limit: String(Number(limit.limit) + raised) }) };
}

/** Keys and members have names; any other value is its own. */
async function namesOf(
  values: readonly string[],
  field: string,
  { api, org }: ScreenVisit,
): Promise<(row: LimitValueItem) => string> {
  const keys = field === 'key_id' ? await keysById(api, org, values) : undefined;
  const members = field === 'member_id' ? await memberNames(api, org, values) : undefined;
  return ({ values: { [field]: value = '' } }) => keys?.get(value)?.name ?? members?.get(value) ?? value;
}

function runsOf(
  limit: LimitResponse,
  { values, standing }: LimitValueItem,
  name: string,
  { org }: ScreenVisit,
): Part {
  const { window_start, window_end } = standing;
  const filters = matchFilters({ ...limit.match, ...values });
  if (filters === undefined || window_start === null || window_end === null) {
    return name;
  }
  const days = daysOf(Date.parse(window_start), Date.parse(window_end), org.timezone);
  return html`<a href="${runsLink(filters, days)}">${name}</a>`;
}
