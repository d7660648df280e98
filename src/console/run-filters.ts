/** The filters of runs and of their usage, which have the same names on every page, with the values that runs have. */
import { inOrder, runDimensions, type UsageDimension, usageDimensions } from '../contract/run-dimensions.ts';
import { ApiFailure } from './api.ts';
import type { Filter } from './filters.ts';
import { capitalized } from './format.ts';
import type { Option } from './forms.ts';
import { link } from './html.ts';
import { fieldName } from './limit-names.ts';
import { keysById, memberNames } from './names.ts';
import type { PagePeriod } from './periods.ts';
import type { Responses } from './responses.ts';
import type { ScreenVisit } from './screen.ts';

/** Fields that usage can be grouped and filtered by. */
export const usageFields = inOrder<UsageDimension>(
  ['model', 'provider', 'workflow', 'team', 'department', 'deployment', 'customer_id', 'member_id'],
  [...usageDimensions.filter((name) => runDimensions[name].source === 'label'), 'key_id', 'status'],
);
export type UsageField = UsageDimension;

/** Fields that a run may have no value for. */
const optionalFields: readonly string[] = usageFields.filter(
  (name) => runDimensions[name].source === 'label',
);
const sharedFilters: readonly string[] = [...usageFields, 'tag', 'without'];
const valuesMax = 30;
/** With more values a text field with suggestions is easier to use than a list. */
const selectMax = 15;

/** Stands for the value of a field that a run has no value for. */
export const notSet = '(not set)';

/** Returns the filters of a page that the others have too. */
export function travellingFilters(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    sharedFilters.flatMap((name) => {
      const value = query.get(name)?.trim() ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** A value of a field or a tag (`tag:name`); null for runs without a value. */
export type FieldValue = readonly [field: string, value: string | null];

/** Returns the filters of a page with filters for these values added. */
export function filtersFor(
  values: readonly FieldValue[],
  filters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const all = { ...filters };
  for (const [field, value] of values) {
    if (value === null) {
      const without = (all.without ?? '').split(',').filter((name) => name !== '' && name !== field);
      all.without = [...without, field].join(',');
    } else if (field.startsWith('tag:')) {
      all.tag = `${field.slice('tag:'.length)}=${value}`;
    } else {
      all[field] = value;
    }
  }
  return all;
}

export interface UsedValues {
  readonly fields: Readonly<
    Record<UsageField, { readonly values: readonly string[]; readonly more: boolean }>
  >;
  /** Names of tags. */
  readonly tags: Responses['usage.values']['tags'];
  /** Returns the name of a key or member, otherwise the value itself. */
  nameOf(field: string, value: string): string;
}

const none = { values: [], more: false };
const noValues = Object.fromEntries(
  usageFields.map((name) => [name, none]),
) as unknown as UsedValues['fields'];

/** Reads the values that runs of the period have; a page works without them. */
export async function readUsedValues({ api, org }: ScreenVisit, period: PagePeriod): Promise<UsedValues> {
  const found = await api.tryGet<'usage.values'>(
    link(`${org.path}/usage/values`, { ...period.api, limit: String(valuesMax) }),
  );
  if (found instanceof ApiFailure) {
    return { fields: noValues, tags: {}, nameOf: (_, value) => value };
  }
  const [keys, members] = await Promise.all([
    keysById(api, org, found.fields.key_id.values),
    memberNames(api, org, found.fields.member_id.values),
  ]);
  return {
    fields: found.fields,
    tags: found.tags,
    nameOf: (field, value) =>
      (field === 'key_id' ? keys.get(value)?.name : field === 'member_id' ? members.get(value) : undefined) ??
      value,
  };
}

/** The filter of a field: a list of its values, or a text field with suggestions if there are many or none. */
export function fieldFilter(field: UsageField, { fields, nameOf }: UsedValues): Filter {
  const { values, more } = fields[field];
  const options: Option[] = values.map((value) => ({ value, label: nameOf(field, value) }));
  const label = capitalized(fieldName(field));
  return more || values.length === 0 || values.length > selectMax
    ? { name: field, label, suggestions: options }
    : { name: field, label, options };
}

export function tagFilter({ tags }: UsedValues): Filter {
  return {
    name: 'tag',
    label: 'Tag (name=value)',
    suggestions: Object.entries(tags)
      .flatMap(([name, { values }]) => values.map((value) => `${name}=${value}`))
      .map((value) => ({ value, label: value })),
  };
}

/** The filter for runs that have no value. */
export function withoutFilter({ tags }: UsedValues): Filter {
  const names = [...optionalFields, ...Object.keys(tags).map((name) => `tag:${name}`)];
  return {
    name: 'without',
    label: 'Not set',
    all: 'Any',
    options: names.map((value) => ({ value, label: `No ${fieldName(value)}` })),
  };
}
