/** Spend of each member or API key: calls, denials and what is left of the budget. */
import { type Api, ApiFailure, type ListPages, readPages } from '../../api.ts';
import { linkButton } from '../../buttons.ts';
import { alert, card, empty, nextPage, requirement } from '../../components.ts';
import { count, inUnit, percent, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { subline } from '../../inline.ts';
import { fieldName, limitLink, remaining } from '../../limit-names.ts';
import { keyLink, keysById, memberNames } from '../../names.ts';
import { type PagePeriod, periodBar, periodOf } from '../../periods.ts';
import type { Responses } from '../../responses.ts';
import { notSet } from '../../run-filters.ts';
import { type Screen, type ScreenVisit, type VisitedOrg, view } from '../../screen.ts';
import { type Column, table } from '../../table.ts';
import type { LimitItem, LimitItemUsage, UsageItem } from '../../views.ts';
import { developersPath, gatewayTabs } from './gateway-tabs.ts';

const groupings = [
  ['member_id', 'Member', 'By member', 'member'],
  ['key_id', 'API key', 'By API key', 'key'],
] as const;
type GroupingField = (typeof groupings)[number][0];

/** 1,000 rows: the API keeps as many denials. */
const pagesMax = 5;
const isEnough = (_rows: readonly unknown[], pages: number) => pages === pagesMax;

export const gatewayDeveloperScreens: readonly Screen[] = [
  { path: developersPath, audience: 'org', handler: developers },
];

async function developers(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const period = periodOf(visit, 'today');
  const grouping = groupings.find(([name]) => name === query.get('by')) ?? groupings[0];
  const [field] = grouping;
  const usage = await api.tryGet<'usage.read'>(
    link(`${org.path}/usage`, {
      group_by: field,
      ...period.api,
      limit: '50',
      cursor: query.get('cursor') ?? undefined,
    }),
  );
  if (usage instanceof ApiFailure && usage.code !== 'validation_failed') {
    throw usage;
  }
  const body =
    usage instanceof ApiFailure
      ? alert('Invalid range.', usage.fields)
      : spendTable(await readSpend(visit, usage, period, grouping));
  const choices = groupings.map(
    ([name, , label]) =>
      html`<a class="button" href="${link(developersPath, { ...period.query, by: name })}"${name === field && html` aria-current="true"`}>${label}</a> `,
  );
  return view({
    title: 'Spend by developer',
    heading: 'Gateway',
    intro: html`All runs, through the gateway or not. ${period.label} (${org.timezone}).`,
    status: usage instanceof ApiFailure ? usage.status : 200,
  })`
${gatewayTabs(developersPath)}
${periodBar({ path: developersPath, query, period })}
<div class="choices" role="group" aria-label="Group by">${choices}</div>
${card('Spend by developer', body)}`;
}

/** The usage by member or key, and what the other columns of its table show. */
interface DeveloperSpend {
  readonly visit: ScreenVisit;
  readonly usage: Responses['usage.read'];
  readonly period: PagePeriod;
  readonly grouping: (typeof groupings)[number];
  readonly budgets: ListPages<LimitItem> | ApiFailure;
  /** The budget for each member or key; undefined if there is none. */
  readonly eachBudget: LimitItem | undefined;
  readonly usages: LimitUsages;
  readonly denials: Denials;
  /** True if each denial can be assigned to a row. Denials name keys, and only a visitor who may read keys sees whose they are. */
  readonly isAttributed: boolean;
  readonly keys: Awaited<ReturnType<typeof keysById>>;
  readonly members: Awaited<ReturnType<typeof memberNames>>;
}

async function readSpend(
  visit: ScreenVisit,
  usage: Responses['usage.read'],
  period: PagePeriod,
  grouping: DeveloperSpend['grouping'],
): Promise<DeveloperSpend> {
  const { api, org } = visit;
  const [field] = grouping;
  const [budgets, denials] = await Promise.all([
    readPages(
      (cursor) =>
        api.tryGet<'limits.list'>(link(`${org.path}/limits`, { kind: 'budget', limit: '200', cursor })),
      isEnough,
    ),
    denialsByKey(api, org, period),
  ]);
  const eachBudget =
    budgets instanceof ApiFailure ? undefined : budgets.data.find((one) => isForEach(one, field));
  const values = usage.data.map((row) => row[field] ?? null);
  const [keys, members, usages] = await Promise.all([
    keysById(api, org, field === 'key_id' ? values.flatMap((id) => id ?? []) : denials.keyIds),
    memberNames(api, org, field === 'member_id' ? values : []),
    usagesOf(api, org, eachBudget, field),
  ]);
  const isAttributed = field === 'key_id' || denials.keyIds.every((id) => keys.has(id));
  return {
    visit,
    usage,
    period,
    grouping,
    budgets,
    eachBudget,
    usages,
    denials,
    isAttributed,
    keys,
    members,
  };
}

function spendTable(spend: DeveloperSpend): Markup {
  const { visit, usage, grouping } = spend;
  const caption = `Spend by ${fieldName(grouping[0])}`;
  const rows =
    usage.data.length === 0
      ? empty('No calls in this range', 'Spend appears here once calls are made.')
      : html`${table({ caption, rows: usage.data, columns: columnsOf(spend) })}${nextPage(developersPath, visit.query, usage.next_cursor)}`;
  return html`${rows}${notes(spend)}`;
}

function columnsOf(spend: DeveloperSpend): Column<UsageItem>[] {
  const { usage, period, grouping } = spend;
  const [field, title] = grouping;
  const total = Number(usage.total.cost_usd);
  return [
    { title, cell: (row) => nameCell(spend, row[field] ?? null) },
    { title: 'Spend', isNumber: true, cell: (row) => usd(row.cost_usd) },
    {
      title: 'Share',
      isNumber: true,
      cell: (row) => (total === 0 ? '–' : percent(Number(row.cost_usd) / total)),
    },
    { title: 'Calls', isNumber: true, cell: (row) => count(row.runs) },
    { title: 'Blocked', isNumber: true, cell: (row) => deniedCell(spend, row[field] ?? null) },
    { title: 'Budget', cell: (row) => budgetCell(spend, row[field] ?? null) },
    {
      title: '',
      cell: (row) => {
        const value = row[field];
        if (value == null) {
          return undefined;
        }
        const about = html`<span class="hidden"> of ${developerName(spend, value)}</span>`;
        const href = link('/console/runs', { [field]: value, ...period.query });
        return html`<a href="${href}">Runs${about}</a>`;
      },
    },
  ];
}

function developerName({ grouping: [field], keys, members }: DeveloperSpend, value: string): string {
  return (field === 'key_id' ? keys.get(value)?.name : members.get(value)) ?? value;
}

function nameCell(spend: DeveloperSpend, value: string | null): Part {
  if (value === null) {
    return html`<span class="quiet">${notSet}</span>`;
  }
  return spend.grouping[0] === 'key_id' ? keyLink(value, spend.keys) : developerName(spend, value);
}

function deniedCell(
  { grouping: [field], denials, isAttributed, keys }: DeveloperSpend,
  value: string | null,
): Part {
  if (denials.byKey instanceof ApiFailure || !isAttributed) {
    return '–';
  }
  const owner = (keyId: string) =>
    field === 'key_id' ? keyId : (keys.get(keyId)?.attribution.member_id ?? null);
  const counted = [...denials.byKey].filter(([keyId]) => owner(keyId) === value);
  return count(counted.reduce((sum, [, denied]) => sum + denied, 0));
}

interface LimitUsages {
  readonly byValue: ReadonlyMap<string, LimitItemUsage>;
  /** True if a value that is missing has used nothing. */
  readonly isComplete: boolean;
}

function isForEach({ match }: LimitItem, field: GroupingField): boolean {
  return match[field] === '*' && Object.keys(match).length === 1;
}

/** Returns what each member or key has used of the budget that each of them has. */
async function usagesOf(
  api: Api,
  org: VisitedOrg,
  eachBudget: LimitItem | undefined,
  field: GroupingField,
): Promise<LimitUsages> {
  const listed =
    eachBudget &&
    (await readPages(
      (cursor) =>
        api.tryGet<'limits.values'>(
          link(org.path + path`/limits/${eachBudget.id}/values`, { limit: '200', cursor }),
        ),
      isEnough,
    ));
  return listed === undefined || listed instanceof ApiFailure
    ? { byValue: new Map(), isComplete: false }
    : {
        byValue: new Map(listed.data.map(({ values, standing }) => [values[field] ?? '', standing])),
        isComplete: listed.isComplete,
      };
}

/** Shows the amount left of the tightest budget of the member or key alone; without one, of the budget for each value. */
function budgetCell(spend: DeveloperSpend, value: string | null): Part {
  const { visit, budgets, eachBudget, usages } = spend;
  const [field, , , scopeKind] = spend.grouping;
  if (value === null || budgets instanceof ApiFailure) {
    return '–';
  }
  const own = budgets.data.filter(({ match }) => match[field] === value && Object.keys(match).length === 1);
  const [tightest] = own.toSorted(
    (a, b) => Number(a.standing?.remaining ?? 0) - Number(b.standing?.remaining ?? 0),
  );
  if (tightest?.standing != null) {
    return html`${remaining(tightest, tightest.standing)} of ${inUnit(tightest.unit, tightest.limit)} left${subline(limitLink(tightest))}`;
  }
  if (eachBudget !== undefined) {
    const whole = inUnit(eachBudget.unit, eachBudget.limit);
    const usage = usages.byValue.get(value);
    const unused = usages.isComplete ? `${whole} left` : `${whole} each`;
    return html`${usage === undefined ? unused : html`${remaining(eachBudget, usage)} of ${whole} left`}${subline(limitLink(eachBudget))}`;
  }
  const newBudget = '/console/limits/budgets/new';
  return (
    linkButton(visit, {
      path: link(newBudget, { scope_kind: scopeKind, scope_id: value, period: 'day' }),
      label: 'Set budget',
      about: `of ${developerName(spend, value)}`,
    }) || 'none'
  );
}

interface Denials {
  readonly byKey: ReadonlyMap<string, number> | ApiFailure;
  readonly keyIds: readonly string[];
}

async function denialsByKey(api: Api, org: VisitedOrg, period: PagePeriod): Promise<Denials> {
  const all = await readPages(
    (cursor) =>
      api.tryGet<'refusals.list'>(link(`${org.path}/refusals`, { ...period.api, limit: '200', cursor })),
    isEnough,
  );
  if (all instanceof ApiFailure) {
    return { byKey: all, keyIds: [] };
  }
  const byKey = new Map<string, number>();
  for (const denial of all.data) {
    byKey.set(denial.key_id, (byKey.get(denial.key_id) ?? 0) + denial.count);
  }
  return { byKey, keyIds: [...byKey.keys()] };
}

function notes({ budgets, denials: { byKey }, grouping: [field], isAttributed }: DeveloperSpend): Markup {
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
