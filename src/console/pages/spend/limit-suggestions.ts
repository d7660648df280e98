/** Values that the forms of limits suggest: those that runs had lately. */
import {
  attributionLabels,
  runDimensions,
  type UsageDimension,
  usageDimensions,
} from '../../../contract/run-dimensions.ts';
import { ApiFailure } from '../../api.ts';
import { capitalized } from '../../format.ts';
import type { Option } from '../../forms.ts';
import { link } from '../../html.ts';
import type { ScreenVisit } from '../../screen.ts';

/** Dimensions whose values are suggested if the kind of the budget is not known yet. Members are suggested by their names. */
const usualDimensions = attributionLabels.filter(
  (name) => runDimensions[name].scopeKind !== null && name !== 'member_id',
);
const days = 90;
const dayMs = 86_400_000;
const valuesMax = '50';

/** Values of the kind of scope in the URL, or else of the usual kinds. */
export async function scopeSuggestions(visit: ScreenVisit): Promise<readonly Option[]> {
  const kind = visit.query.get('scope_kind');
  if (kind === 'key') {
    return keySuggestions(visit);
  }
  if (kind === 'member') {
    return memberSuggestions(visit);
  }
  const known = usageDimensions.filter((name) => kind !== null && runDimensions[name].scopeKind === kind);
  return usedValues(visit, known.length > 0 ? known : usualDimensions);
}

/** Visitors who may not read the values get no suggestions. */
async function usedValues(
  { api, org, now }: ScreenVisit,
  wanted: readonly UsageDimension[],
): Promise<readonly Option[]> {
  const from = new Date(now.getTime() - days * dayMs).toISOString();
  const found = await api.tryGet<'usage.values'>(
    link(`${org.path}/usage/values`, { from, limit: valuesMax }),
  );
  return found instanceof ApiFailure
    ? []
    : wanted.flatMap((dimension) =>
        found.fields[dimension].values.map((value) => ({
          value,
          label: capitalized(runDimensions[dimension].noun),
        })),
      );
}

async function keySuggestions({ api, org }: ScreenVisit): Promise<readonly Option[]> {
  const found = await api.tryGet<'keys.list'>(link(`${org.path}/keys`, { limit: '200' }));
  return optionsOf(
    found,
    ({ id }) => id,
    ({ name }) => name,
  );
}

async function memberSuggestions({ api, org }: ScreenVisit): Promise<readonly Option[]> {
  const found = await api.tryGet<'members.list'>(link(`${org.path}/members`, { limit: '200' }));
  return optionsOf(
    found,
    ({ id }) => id,
    ({ name }) => name,
  );
}

export async function customerSuggestions({ api, org }: ScreenVisit): Promise<readonly Option[]> {
  const found = await api.tryGet<'customers.list'>(link(`${org.path}/customers`, { limit: valuesMax }));
  return optionsOf(
    found,
    ({ customer_id }) => customer_id,
    () => 'Customer',
  );
}

/** Visitors who may not read the values get no suggestions. */
function optionsOf<Row>(
  found: { readonly data: readonly Row[] } | ApiFailure,
  value: (row: Row) => string,
  label: (row: Row) => string,
): Option[] {
  const rows = found instanceof ApiFailure ? [] : found.data;
  return rows
    .map((row) => ({ value: value(row), label: label(row) }))
    .filter((option) => option.value !== '');
}
