/** Finds resources and values of runs by a part of their name. */
import type { Listed } from '../api.ts';
import { capitalized } from '../format.ts';
import { link, path } from '../html.ts';
import { fieldName } from '../limit-names.ts';
import type { MenuGroup } from '../navigation.ts';
import type { Item, OperationId } from '../responses.ts';
import { type UsageField, usageFields } from '../run-filters.ts';
import { type MatchGroup, matchesPerKind, type SearchContext, type SearchHit } from './search-context.ts';

type NameFinder = (context: SearchContext, text: string) => Promise<MatchGroup>;

/** Lists with the filter `search`. */
const resources: readonly NameFinder[] = [
  async (context, text) => ({
    title: 'API keys',
    matches: await searched<Item<'keys.list'>>(context, '/keys', text, ({ id, name, hint, status }) => ({
      href: path`/console/keys/${id}`,
      name,
      note: `${hint}${status === 'active' ? '' : `, ${status}`}`,
    })),
  }),
  async (context, text) => ({
    title: 'Budgets',
    matches: await searched<Item<'budgets.list'>>(
      context,
      '/budgets',
      text,
      ({ id, name, scope_kind, scope_id }) => ({
        href: path`/console/limits/budgets/${id}`,
        name,
        note: scope_kind === 'org' ? 'Entire organization' : `${scope_kind} ${scope_id}`,
      }),
    ),
  }),
  async (context, text) => ({
    title: 'Policies',
    matches: await searched<Item<'policies.list'>>(context, '/policies', text, ({ id, reason, effect }) => ({
      href: path`/console/policies/${id}`,
      name: reason,
      note: effect.replaceAll('_', ' '),
    })),
  }),
  async (context, text) => ({
    title: 'Webhooks',
    matches: await searched<Item<'webhooks.list'>>(context, '/webhooks', text, ({ id, url, status }) => ({
      href: path`/console/webhooks/${id}`,
      name: url,
      note: status,
    })),
  }),
  async (context, text) => ({
    title: 'Members',
    matches: await searched<Item<'members.list'>>(context, '/members', text, ({ id, name, email, role }) => ({
      href: path`/console/settings/members/${id}`,
      name,
      note: [email, role].filter(Boolean).join(', '),
    })),
  }),
  async (context, text) => ({
    title: 'Customers',
    matches: await customers(context, text),
  }),
];

async function searched<Row>(
  context: SearchContext,
  list: string,
  search: string,
  match: (row: Row) => SearchHit,
): Promise<readonly SearchHit[]> {
  const found = (await context.find<OperationId>(
    link(context.org.path + list, { search, limit: String(matchesPerKind) }),
  )) as Listed<Row> | undefined;
  return (found?.data ?? []).map(match);
}

/** The customer with this id, and customers among those with the highest recent spend whose id contains the text. */
async function customers(context: SearchContext, text: string): Promise<readonly SearchHit[]> {
  const [exact, recent] = await Promise.all([
    context.find<'customers.list'>(link(`${context.org.path}/customers`, { customer_id: text, limit: '1' })),
    values(context, 'customer_id', text),
  ]);
  const ids = new Set([...(exact?.data ?? []).map(({ customer_id }) => customer_id), ...recent]);
  return [...ids]
    .slice(0, matchesPerKind)
    .map((id) => ({ href: path`/console/customers/of/${id}`, name: id }));
}

/** Values that runs carry and that have no page of their own; they link to the runs. */
const runFields = usageFields
  .filter((field) => !['customer_id', 'member_id', 'key_id', 'status'].includes(field))
  .map((field) => ({ field, title: `${capitalized(fieldName(field))}s` }));

/** The values with the highest spend of the period that contain the text. */
async function values(context: SearchContext, field: UsageField, text: string): Promise<readonly string[]> {
  const found = await context.find<'usage.read'>(
    link(`${context.org.path}/usage`, { group_by: field, from: context.usageFrom, limit: '200' }),
  );
  const wanted = text.toLowerCase();
  return (found?.data ?? []).flatMap((row) => {
    const value = row[field];
    return typeof value === 'string' && value.toLowerCase().includes(wanted) ? [value] : [];
  });
}

const runValues: readonly NameFinder[] = runFields.map(({ field, title }) => async (context, text) => ({
  title,
  matches: (await values(context, field, text))
    .slice(0, matchesPerKind)
    .map((value) => ({ href: link('/console/runs', { [field]: value }), name: value, note: 'View runs' })),
}));

const operatorResources: readonly NameFinder[] = [
  async (context, text) => ({
    title: 'Organizations',
    matches: await searched<Item<'orgs.list'>>(context, '/orgs', text, ({ id, name, slug }) => ({
      href: path`/console/orgs/${id}`,
      name,
      note: slug,
    })),
  }),
  async (context, text) => ({
    title: 'API keys',
    matches: await searched<Item<'operator_keys.list'>>(context, '/keys', text, ({ name, hint }) => ({
      href: '/console/operator-keys',
      name,
      note: hint,
    })),
  }),
  async (context, text) => {
    const price = await context.find<'models.prices.list'>(
      link('/v1/admin/models', { model: text, limit: String(matchesPerKind) }),
    );
    return {
      title: 'Prices',
      matches: (price?.data ?? []).map(({ model }) => ({
        href: path`/console/prices/${model}`,
        name: model,
      })),
    };
  },
];

/** Pages of the menu. */
function pages(menu: readonly MenuGroup[], text: string): MatchGroup {
  const wanted = text.toLowerCase();
  return {
    title: 'Pages',
    matches: menu
      .flatMap(({ entries }) => entries)
      .filter(({ title }) => title.toLowerCase().includes(wanted))
      .map(({ title, path: href }) => ({ href, name: title })),
  };
}

export async function findByName(
  context: SearchContext,
  menu: readonly MenuGroup[],
  text: string,
): Promise<readonly MatchGroup[]> {
  const finders = context.org.id === '' ? operatorResources : [...resources, ...runValues];
  const groups = await Promise.all(finders.map((find) => find(context, text)));
  return [pages(menu, text), ...groups].filter(({ matches }) => matches.length > 0);
}
