/** For operators: data region and rate limits of an organization. */
import { formScreens } from '../../form-screens.ts';
import { dotted, type Field, numberOf, type Option } from '../../forms.ts';
import { html } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import type { Screen } from '../../screen.ts';

const orgPath = '/console/orgs/{org_id}';
const apiPath = '/v1/admin/orgs/{org_id}';

const options = (...values: string[]): Option[] => values.map((value) => ({ value, label: value }));
const anyOf = (...values: string[]): Option[] => [{ value: '', label: 'Any' }, ...options(...values)];

const policies: Field = {
  name: 'policies',
  label: 'Rate limits and quotas',
  kind: 'lines',
  help: html`A rate is a rolling limit; a quota counts in fixed windows; a rate of concurrent requests limits those in flight and has
no window. For model, customer and API key enter a value, or * to count each value separately. Save to get more lines.`,
  parts: [
    { name: 'name', label: 'Name', kind: 'text' },
    { name: 'kind', label: 'Type', kind: 'select', options: options('rate', 'quota') },
    { name: 'limit', label: 'Limit', kind: 'text' },
    {
      name: 'unit',
      label: 'Unit',
      kind: 'select',
      options: options('requests', 'tokens', 'usd', 'concurrent'),
    },
    { name: 'window_seconds', label: 'Window (seconds)', kind: 'number' },
    { name: 'burst', label: 'Burst (rates)', kind: 'text' },
    { name: 'match.model', label: 'Model', kind: 'text' },
    { name: 'match.customer_id', label: 'Customer', kind: 'text' },
    { name: 'match.key_id', label: 'API key', kind: 'text' },
    {
      name: 'match.route_class',
      label: 'Routes',
      kind: 'select',
      options: anyOf('read', 'write', 'runs', 'edge'),
    },
  ],
};

/** The API takes amounts of money as strings, and counts as numbers. */
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
    ...(unit !== 'concurrent' && { window_seconds }),
    limit: amount(line.limit),
    ...(line.burst !== undefined && { burst: amount(line.burst) }),
    match: Object.fromEntries(match),
  };
}

export const operatorRateScreens: readonly Screen[] = [
  ...formScreens({
    path: `${orgPath}/residency`,
    audience: 'operator',
    title: 'Data region',
    intro: 'Set it in the data region itself, which informs the others. No data is moved.',
    submit: 'Save',
    back: orgPath,
    fields: () => [
      {
        name: 'home_region',
        label: 'Data region',
        kind: 'text',
        whenEmpty: 'null',
        help: 'Leave blank for no data region.',
      },
      {
        name: 'mode',
        label: 'Requests to other regions',
        kind: 'select',
        required: true,
        options: [
          { value: 'forward', label: 'Forward to the data region' },
          { value: 'strict', label: 'Deny' },
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
    title: 'Rate limits',
    intro: 'Removed lines stop applying. A line that keeps its name, type, unit and scope keeps its count.',
    submit: 'Save',
    back: orgPath,
    fields: () => [
      {
        name: 'read_rpm',
        label: 'Read requests per minute',
        kind: 'number',
        whenEmpty: 'null',
        help: 'Leave blank for the default of the deployment.',
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
