/** Spend of each member or API key: calls, denials and what is left of the budget. */
import { calendarWindow } from '../../../kernel/windows.ts';
import { type Api, ApiFailure } from '../../api.ts';
import {
  type Column,
  card,
  empty,
  heading,
  linkButton,
  nextPage,
  requirement,
  table,
} from '../../components.ts';
import { count, day, inUnit, percent, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { fieldName, limitLink, remaining } from '../../limit-names.ts';
import { keyLink, keysById, memberNames } from '../../names.ts';
import { notSet } from '../../run-filters.ts';
import { type Screen, type ScreenVisit, type VisitedOrg, view } from '../../screen.ts';
import type { LimitUsage, LimitView, UsageRow } from '../../views.ts';
import { developersPath, gatewayTabs } from './gateway-tabs.ts';

const ranges = [
  ['today', 'Today', 0],
  ['7d', '7 days', 6],
  ['30d', '30 days', 29],
] as const;
const groupings = [
  ['member_id', 'Member', 'By member', 'member'],
  ['key_id', 'API key', 'By API key', 'key'],
] as const;
type Field = (typeof groupings)[number][0];

/** 1,000 rows: the API keeps as many denials. */
const pagesMax = 5;

export const gatewayDeveloperScreens: readonly Screen[] = [
  { path: developersPath, audience: 'org', handler: developers },
];

async function developers(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const [range, , daysBefore] = ranges.find(([name]) => name === query.get('range')) ?? ranges[0];
  const [field, title, , scopeKind] = groupings.find(([name]) => name === query.get('by')) ?? groupings[0];
  const from = rangeStart(visit, daysBefore);
  const [usage, budgets, denials] = await Promise.all([
    api.get<'usage.read'>(
      link(`${org.path}/usage`, {
        group_by: field,
        from,
        limit: '50',
        cursor: query.get('cursor') ?? undefined,
      }),
    ),
    allOf<LimitView>((cursor) =>
      api.tryGet<'limits.list'>(link(`${org.path}/limits`, { kind: 'budget', limit: '200', cursor })),
    ),
    denialsByKey(api, org, from),
  ]);
  const eachBudget =
    budgets instanceof ApiFailure ? undefined : budgets.data.find((one) => isForEach(one, field));
  const values = usage.data.map((row) => row[field] ?? null);
  const [keys, members, standings] = await Promise.all([
    keysById(api, org, field === 'key_id' ? values.flatMap((id) => id ?? []) : denials.keyIds),
    memberNames(api, org, field === 'member_id' ? values : []),
    standingsOf(api, org, eachBudget, field),
  ]);
  // Denials name keys, and only a visitor who may read keys can tell whose they are.
  const isAttributed = field === 'key_id' || denials.keyIds.every((id) => keys.has(id));
  const deniedOf = (value: string | null): Part => {
    if (denials.byKey instanceof ApiFailure || !isAttributed) {
      return '–';
    }
    const counted = [...denials.byKey].filter(([keyId]) =>
      field === 'key_id' ? keyId === value : (keys.get(keyId)?.attribution.member_id ?? null) === value,
    );
    return count(counted.reduce((sum, [, denied]) => sum + denied, 0));
  };
  const total = Number(usage.total.cost_usd);
  const nameOf = (value: string) =>
    (field === 'key_id' ? keys.get(value)?.name : members.get(value)) ?? value;
  const columns: Column<UsageRow>[] = [
    {
      title,
      cell: (row) => {
        const value = row[field] ?? null;
        if (value === null) {
          return html`<span class="quiet">${notSet}</span>`;
        }
        return field === 'key_id' ? keyLink(value, keys) : nameOf(value);
      },
    },
    { title: 'Spend', isNumber: true, cell: (row) => usd(row.cost_usd) },
    {
      title: 'Share',
      isNumber: true,
      cell: (row) => (total === 0 ? '–' : percent(Number(row.cost_usd) / total)),
    },
    { title: 'Calls', isNumber: true, cell: (row) => count(row.runs) },
    { title: 'Blocked', isNumber: true, cell: (row) => deniedOf(row[field] ?? null) },
    {
      title: 'Budget',
      cell: ({ [field]: value = null }) =>
        value === null
          ? '–'
          : budgetCell(visit, budgets, {
              field,
              scopeKind,
              value,
              name: nameOf(value),
              eachBudget,
              standings,
            }),
    },
    {
      title: '',
      cell: (row) =>
        row[field] != null &&
        html`<a href="${link('/console/runs', { [field]: row[field], from })}">Runs<span class="hidden"> of ${nameOf(row[field])}</span></a>`,
    },
  ];
  const body =
    usage.data.length === 0
      ? empty('No calls yet', 'Spend appears here once calls are made in this range.')
      : html`${table({ caption: `Spend by ${fieldName(field)}`, rows: usage.data, columns })}${nextPage(developersPath, query, usage.next_cursor)}`;
  const choose = (name: string, value: string, label: string, isCurrent: boolean) =>
    html`<a class="button" href="${link(developersPath, { by: field, range, [name]: value })}"${isCurrent && html` aria-current="true"`}>${label}</a> `;
  return view(
    'Spend by developer',
    html`${heading('Gateway', undefined, html`All runs since ${day(from, org.timezone)}, through the gateway or not.`)}
${gatewayTabs(developersPath)}
<div class="choices"><div class="presets" role="group" aria-label="Range">${ranges.map(([name, label]) => choose('range', name, label, name === range))}</div>
<div class="presets" role="group" aria-label="Group by">${groupings.map(([name, , label]) => choose('by', name, label, name === field))}</div></div>
${card('Spend by developer', html`${body}${notes(budgets, denials, { field, isAttributed })}`)}`,
  );
}

function rangeStart({ now, org }: ScreenVisit, daysBefore: number): string {
  let { startMs } = calendarWindow('day', org.timezone, now.getTime());
  for (let back = 0; back < daysBefore; back += 1) {
    ({ startMs } = calendarWindow('day', org.timezone, startMs - 1));
  }
  return new Date(startMs).toISOString();
}

interface BudgetScope {
  readonly field: Field;
  readonly scopeKind: 'member' | 'key';
  readonly value: string;
  readonly name: string;
  /** The budget for each member or key; undefined if there is none. */
  readonly eachBudget: LimitView | undefined;
  readonly standings: Standings;
}

interface Standings {
  readonly byValue: ReadonlyMap<string, LimitUsage>;
  /** True if a value that is missing has used nothing. */
  readonly isComplete: boolean;
}

function isForEach({ match }: LimitView, field: Field): boolean {
  return match[field] === '*' && Object.keys(match).length === 1;
}

/** Returns what each member or key has used of the budget that each of them has. */
async function standingsOf(
  api: Api,
  org: VisitedOrg,
  eachBudget: LimitView | undefined,
  field: Field,
): Promise<Standings> {
  const listed =
    eachBudget &&
    (await allOf((cursor) =>
      api.tryGet<'limits.values'>(
        link(org.path + path`/limits/${eachBudget.id}/values`, { limit: '200', cursor }),
      ),
    ));
  return listed === undefined || listed instanceof ApiFailure
    ? { byValue: new Map(), isComplete: false }
    : {
        byValue: new Map(listed.data.map(({ values, standing }) => [values[field] ?? '', standing])),
        isComplete: listed.isComplete,
      };
}

/** Shows what is left of the own budget of the member or key, the one with the least left; without one, of the budget for each. */
function budgetCell(
  visit: ScreenVisit,
  budgets: All<LimitView> | ApiFailure,
  { field, scopeKind, value, name, eachBudget, standings }: BudgetScope,
): Part {
  if (budgets instanceof ApiFailure) {
    return '–';
  }
  const own = budgets.data.filter(({ match }) => match[field] === value && Object.keys(match).length === 1);
  const [tightest] = own.toSorted(
    (a, b) => Number(a.standing?.remaining ?? 0) - Number(b.standing?.remaining ?? 0),
  );
  if (tightest?.standing != null) {
    return html`${remaining(tightest, tightest.standing)} of ${inUnit(tightest.unit, tightest.limit)} left<span class="sub">${limitLink(tightest)}</span>`;
  }
  if (eachBudget !== undefined) {
    const whole = inUnit(eachBudget.unit, eachBudget.limit);
    const standing = standings.byValue.get(value);
    const unused = standings.isComplete ? `${whole} left` : `${whole} each`;
    return html`${standing === undefined ? unused : html`${remaining(eachBudget, standing)} of ${whole} left`}<span class="sub">${limitLink(eachBudget)}</span>`;
  }
  const newBudget = '/console/limits/budgets/new';
  return (
    linkButton(visit, {
      path: link(newBudget, { scope_kind: scopeKind, scope_id: value, period: 'day' }),
      label: 'Set budget',
      about: `of ${name}`,
    }) || 'none'
  );
}

interface All<Row> {
  readonly data: readonly Row[];
  readonly isComplete: boolean;
}

/** Reads the pages of a list, up to a bound. */
async function allOf<Row>(
  read: (
    cursor: string | undefined,
  ) => Promise<{ readonly data: readonly Row[]; readonly next_cursor: string | null } | ApiFailure>,
  isEnough: (last: Row) => boolean = () => false,
): Promise<All<Row> | ApiFailure> {
  const data: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const listed = await read(cursor);
    if (listed instanceof ApiFailure) {
      return listed;
    }
    data.push(...listed.data);
    const last = data.at(-1);
    if (listed.next_cursor === null || last === undefined || isEnough(last)) {
      return { data, isComplete: true };
    }
    cursor = listed.next_cursor;
  }
  return { data, isComplete: false };
}

interface Denials {
  readonly byKey: ReadonlyMap<string, number> | ApiFailure;
  readonly keyIds: readonly string[];
}

async function denialsByKey(api: Api, org: VisitedOrg, from: string): Promise<Denials> {
  const since = Date.parse(from);
  const isBefore = ({ last_at }: { readonly last_at: string }) => Date.parse(last_at) < since;
  const all = await allOf(
    (cursor) => api.tryGet<'refusals.list'>(link(`${org.path}/refusals`, { limit: '200', cursor })),
    isBefore,
  );
  if (all instanceof ApiFailure) {
    return { byKey: all, keyIds: [] };
  }
  const byKey = new Map<string, number>();
  for (const denial of all.data) {
    if (!isBefore(denial)) {
      byKey.set(denial.key_id, (byKey.get(denial.key_id) ?? 0) + denial.count);
    }
  }
  return { byKey, keyIds: [...byKey.keys()] };
}

function notes(
  budgets: All<LimitView> | ApiFailure,
  { byKey }: Denials,
  { field, isAttributed }: { readonly field: Field; readonly isAttributed: boolean },
): Markup {
  return html`<p class="sub">Blocked: ${deniedNote()}. ${
    budgets instanceof ApiFailure
      ? html`Budget: ${requirement(budgets)}.`
      : !budgets.isComplete && 'Only the first 1,000 budgets are considered.'
  }</p>`;

  function deniedNote(): Markup {
    if (byKey instanceof ApiFailure) {
      return requirement(byKey);
    }
    return isAttributed
      ? html`of the latest 1,000 <a href="/console/refusals">blocked requests</a>${field === 'member_id' && ', by the member of their key'}`
      : html`Requires <code>keys:read</code>`;
  }
}
