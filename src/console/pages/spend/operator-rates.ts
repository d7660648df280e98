/** For operators: where an organization is at home, and how often and how much at a time it may call. */
import { formScreens } from '../../form-screens.ts';
import { dotted, type Field, numberOf, type Option } from '../../forms.ts';
import { pathOf } from '../../operations.ts';
import type { Screen } from '../../screen.ts';

const orgPath = '/console/orgs/{org_id}';
const apiPath = '/v1/admin/orgs/{org_id}';

const options = (...values: string[]): Option[] => values.map((value) => ({ value, label: value }));
const anyOf = (...values: string[]): Option[] => [{ value: '', label: 'any' }, ...options(...values)];

const policies: Field = {
  name: 'policies',
  label: 'Rates and quotas',
  kind: 'lines',
  help: 'A rate lets through what comes in evenly; a quota counts in fixed windows. Models, customers and keys: a value, or * for each by itself. When all lines are full, save and come back for more.',
  parts: [
    { name: 'name', label: 'Name', kind: 'text' },
    { name: 'kind', label: 'Kind', kind: 'select', options: options('rate', 'quota') },
    { name: 'limit', label: 'Limit', kind: 'text' },
    { name: 'unit', label: 'Of', kind: 'select', options: options('requests', 'tokens', 'usd') },
    { name: 'window_seconds', label: 'In seconds', kind: 'number' },
    { name: 'burst', label: 'At once (rates)', kind: 'text' },
    { name: 'match.model', label: 'Model', kind: 'text' },
    { name: 'match.customer_id', label: 'Customer', kind: 'text' },
    { name: 'match.key_id', label: 'Key', kind: 'text' },
    {
      name: 'match.route_class',
      label: 'Routes',
      kind: 'select',
      options: anyOf('read', 'write', 'runs', 'edge'),
    },
  ],
};

/** Amounts of money are texts in the API, counts are numbers. */
function policyOf(line: Record<string, unknown>): object {
  const match = Object.entries(line).flatMap(([name, value]) =>
    name.startsWith('match.') ? [[name.slice('match.'.length), value]] : [],
  );
  const { name, kind, unit, window_seconds } = line;
  const amount = (value: unknown) => (typeof value === 'string' && unit !== 'usd' ? numberOf(value) : value);
  return {
    name,
    kind,
    unit,
    window_seconds,
    limit: amount(line.limit),
    ...(line.burst !== undefined && { burst: amount(line.burst) }),
    match: Object.fromEntries(match),
  };
}

export const operatorRateScreens: readonly Screen[] = [
  ...formScreens({
    path: `${orgPath}/residency`,
    audience: 'operator',
    title: 'Where the organization is at home',
    intro: 'Call the home region itself: it tells the others. No data are moved.',
    submit: 'Save',
    back: orgPath,
    fields: () => [
      {
        name: 'home_region',
        label: 'Home region',
        kind: 'text',
        whenEmpty: 'null',
        help: 'Empty: at home everywhere.',
      },
      {
        name: 'mode',
        label: 'What arrives in another region',
        kind: 'select',
        required: true,
        options: [
          { value: 'forward', label: 'is sent to the home region' },
          { value: 'strict', label: 'is refused' },
        ],
      },
    ],
    async load({ api, params }) {
      const { home_region, mode } = await api.get<'residency.read'>(pathOf(`${apiPath}/residency`, params));
      return { home_region: home_region ?? '', mode };
    },
    call: `PUT ${apiPath}/residency`,
  }),
  ...formScreens({
    path: `${orgPath}/rates`,
    audience: 'operator',
    title: 'Rates of the organization',
    intro:
      'What is left out is not limited. A line that keeps its name, kind, unit and whom it is for keeps what it has counted.',
    submit: 'Save',
    back: orgPath,
    fields: () => [
      {
        name: 'read_rpm',
        label: 'Reads in a minute',
        kind: 'number',
        whenEmpty: 'null',
        help: 'Empty: as the deployment says.',
      },
      policies,
    ],
    async load({ api, params }) {
      const found = await api.get<'orgs.rate_limits.read'>(pathOf(`${apiPath}/rate-limits`, params));
      return { read_rpm: String(found.read_rpm ?? ''), ...dotted(found.policies, 'policies') };
    },
    call: `PUT ${apiPath}/rate-limits`,
    body(body) {
      const lines = (body.policies ?? []) as Record<string, unknown>[];
      return { read_rpm: body.read_rpm, policies: lines.map(policyOf) };
    },
  }),
];
