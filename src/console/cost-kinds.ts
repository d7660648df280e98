/** Costs by kind of usage, for pages of the console. */
import { cardOf } from './components.ts';
import { capitalized, count, humanize, shareText, usd } from './format.ts';
import { html, link, type Markup, type Part } from './html.ts';
import { periodOf } from './periods.ts';
import type { Responses } from './responses.ts';
import type { ScreenVisit } from './screen.ts';
import { type Column, table } from './table.ts';

interface KindCost {
  readonly kind?: string;
  readonly quantity: number | null;
  readonly cost_usd: string;
}

/** The name of a kind, such as “Cached input”; a unit has its own. */
export function usageKindName(kind: string): string {
  return kind.startsWith('unit:') ? kind.slice('unit:'.length) : capitalized(humanize(kind));
}

/** `hrefOf` returns a link to the usage of a kind. */
export function kindTable(
  rows: readonly KindCost[],
  { caption, hrefOf }: { readonly caption: string; readonly hrefOf?: (kind: string) => string },
): Markup {
  const total = rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
  const nameCell = ({ kind = '' }: KindCost): Part => {
    const name = usageKindName(kind);
    return hrefOf === undefined ? name : html`<a href="${hrefOf(kind)}">${name}</a>`;
  };
  const columns: readonly Column<KindCost>[] = [
    { title: 'Kind', cell: nameCell },
    { title: 'Quantity', isNumber: true, cell: ({ quantity }) => (quantity === 0 ? '–' : count(quantity)) },
    { title: 'Cost', isNumber: true, cell: ({ cost_usd }) => usd(cost_usd) },
    {
      title: 'Share',
      isNumber: true,
      cell: ({ cost_usd }) => (total <= 0 ? '–' : shareText(Number(cost_usd) / total)),
    },
  ];
  return table({ caption, rows, columns });
}

type Conditions = Readonly<Record<string, string>>;

/** A card with the costs by kind of the runs that meet the conditions, in the last 30 days. */
export async function paidForCard(visit: ScreenVisit, conditions: Conditions): Promise<Markup> {
  const { now, org } = visit;
  const period = periodOf({ query: new URLSearchParams(), now, org }, '30d');
  return paidForCardOf(visit, { ...conditions, ...period.api }, (kind) =>
    link('/console/usage', { ...conditions, kind, range: '30d' }),
  );
}

/** The same card for a request that has its own range. */
export async function paidForCardOf(
  { api, org }: Pick<ScreenVisit, 'api' | 'org'>,
  request: Readonly<Record<string, string | undefined>>,
  hrefOf: (kind: string) => string,
): Promise<Markup> {
  const found = await api.tryGet<'usage.read'>(
    link(`${org.path}/usage`, { ...request, group_by: 'kind', limit: '200' }),
  );
  return cardOf('What we pay for', found, (usage) => kindsOf(usage, hrefOf));
}

function kindsOf({ data, total }: Responses['usage.read'], hrefOf: (kind: string) => string): Part {
  if (data.length === 0) {
    return html`<p class="quiet">No spend in this period.</p>`;
  }
  const saved = Number(total.cache_savings_usd);
  return html`${saved > 0 && html`<p>Caches saved ${usd(saved)}: cached input would have cost that much more.</p>`}
${kindTable(data, { caption: 'Cost by kind of usage', hrefOf })}`;
}
