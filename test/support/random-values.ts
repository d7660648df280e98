/** Values for a JSON schema: mostly valid, sometimes slightly invalid, sometimes hostile. */
import fc from 'fast-check';
import { focusCsv, focusRow } from './statement-files.ts';

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly examples?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const hostileTexts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '__proto__',
  'constructor',
  "'; DROP TABLE orgs; --",
  '%00',
  '{{7*7}}',
  '\u202e\u2066',
  '\ufeff',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '1e999',
  'NaN',
  '-1',
  '9007199254740993',
  'null',
  '*',
  '\r\nX-Injected: yes',
  'a'.repeat(201),
  'é'.repeat(5_000),
];
export const hostileText = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

const times = [
  '2030-01-01T00:00:00Z',
  '2026-11-15T12:00:01.5+00:00',
  '2199-12-31T23:59:59Z',
  '2199-12-31T23:59:59-23:59',
  '1900-01-01T00:00:00+23:59',
  '2030-12-31T23:59:60Z',
  '2030-12-31T23:59:59+01',
  '2030-02-30T00:00:00Z',
  '2030-01-01 00:00:00Z',
  '2030-01-01t00:00:00z',
  '+275760-09-13T00:00:00.000Z',
  '2030-01-01T00:00:00.123456789012345678901234567890Z',
];

const dates = ['2026-11-15', '2028-02-29', '2030-12-31', '2026-02-30', '2026-13-01', '0000-00-00'];

const amounts = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('0', '1', '0.000000001', '12.5', '8999999999.999999999') },
  { weight: 1, arbitrary: fc.constantFrom('-1', '1e3', '9000000000', '1.0000000001') },
);

const statementCsv = focusCsv([focusRow()]);

/** Values for fields whose handler is stricter than their schema. */
const hints: Readonly<Record<string, readonly string[]>> = {
  csv: [statementCsv, statementCsv.replace('USD', 'EUR'), statementCsv.slice(0, -3), 'BilledCost'],
  email: ['grace@example.com', 'ada@example.com', 'grace@', '@'],
  model: ['gpt-4o', 'gpt-4o-mini', 'm', '*'],
  started_at: ['2026-11-15T11:00:00Z', '2026-11-15T12:00:00+01:00', '2026-01-01T00:00:00Z', ...times],
  finished_at: ['2026-11-15T11:30:00Z', '2026-01-01T00:00:00Z', ...times],
  group_by: ['model', 'day', 'hour,team', 'status,customer_id', 'month,key_id', 'model,model', 'colour', ','],
  /** The first value is replaced by the caller's own org when the request is sent. */
  org_id: ['{org_id}', 'org_0', ''],
  source: ['list', 'nightly', 'toString', ''],
  tag: ['a=b', '=', 'a='],
  timezone: ['UTC', 'Europe/Berlin', 'America/St_Johns', 'utc', 'Mars/Olympus', '+01:00', 'Etc/GMT+12'],
  cidrs: [
    '127.0.0.1',
    '127.0.0.0/8',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/33',
    '2001:db8::/32',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    '1.2.3',
  ],
};

/** Objects with names that other fields refer to. */
const objectHints: Readonly<Record<string, readonly object[]>> = {
  sources: [{ list: { name: 'List', url: 'https://list.example' } }, {}],
};

/** A cursor in the format of the service, for any list, with an arbitrary value inside. */
const forgedCursor = fc
  .tuple(
    fc.constantFrom('created_at', '-created_at', 'name', '-name', 'id'),
    fc.oneof(
      fc.constantFrom<unknown>(
        ...times,
        '-100000-01-01T00:00:00Z',
        '-100000-01-01T00:00:00Z',
        '0',
        'now',
        'infinity',
        null,
        1,
        '\ud800',
      ),
      hostileText,
    ),
    fc.oneof(fc.constantFrom<unknown>('org_0', '', null, {}), hostileText),
  )
  .map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url'));

export function valueFor(schema: JsonSchema, name = ''): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: valid(schema, name) },
    { weight: 1, arbitrary: hostileText },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

/** Fields that are optional in the schema but required by the handler in nearly all cases. */
const needed = ['estimated_cost_usd', 'cost_usd', 'issuer', 'client_id'];

/** Generates valid bodies with few optional fields. */
export function politeBody(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { properties = {} } = schema;
  const required = [
    ...(schema.required ?? []),
    ...needed.filter((field) => properties[field] !== undefined && !schema.required?.includes(field)),
  ];
  const optional = Object.keys(properties).filter((field) => !required.includes(field));
  return fc
    .subarray(optional, { maxLength: Math.min(optional.length, 2) })
    .chain((some) =>
      fc.record(
        Object.fromEntries(
          [...required, ...some].map((field) => [field, politeValue(properties[field] ?? {}, field)]),
        ),
      ),
    );
}

function politeValue(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
  return schema.items === undefined ? politeItem(schema, name) : fc.tuple(politeItem(schema.items, name));
}

function politeItem(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
  return schema.properties === undefined ? valid(schema, name) : politeBody(schema);
}

/** Cache: creating an arbitrary takes many times as long as generating a value from it. */
const made = new WeakMap<JsonSchema, Map<string, fc.Arbitrary<unknown>>>();

function valid(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
  const byName = made.get(schema) ?? new Map<string, fc.Arbitrary<unknown>>();
  const there = byName.get(name) ?? makeValid(schema, name);
  made.set(schema, byName.set(name, there));
  return there;
}

function makeValid(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
  const types = [schema.type].flat();
  if (types.includes('null')) {
    return fc.oneof(
      {
        weight: 4,
        arbitrary: valid({ ...schema, type: types.filter((word) => word !== 'null') as string[] }, name),
      },
      { weight: 1, arbitrary: fc.constant(null) },
    );
  }
  if (schema.enum !== undefined) {
    return fc.constantFrom(...schema.enum);
  }
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((one) => valid(one, name)));
  }
  const [type] = [schema.type].flat();
  switch (type) {
    case 'string':
      return validText(schema, name);
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 1_000 }),
        fc.constantFrom(
          0,
          -1,
          1.5,
          1e300,
          Number.MAX_SAFE_INTEGER,
          schema.maximum ?? 0,
          (schema.maximum ?? 0) + 1,
        ),
      );
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.oneof(
        { weight: 9, arbitrary: fc.uniqueArray(valueFor(schema.items ?? {}, name), { maxLength: 4 }) },
        {
          weight: 1,
          arbitrary: fc.array(valueFor(schema.items ?? {}, name), { minLength: 30, maxLength: 60 }),
        },
      );
    case 'object':
      return objectHints[name] === undefined
        ? objectFor(schema)
        : fc.oneof(fc.constantFrom(...objectHints[name]), objectFor(schema));
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function validText(schema: JsonSchema, name: string): fc.Arbitrary<string> {
  if (name === 'cursor') {
    return forgedCursor;
  }
  const hinted = hints[name];
  if (hinted !== undefined) {
    return fc.constantFrom(...hinted);
  }
  if (schema.examples !== undefined) {
    return fc.constantFrom(...schema.examples);
  }
  if (schema.format === 'date-time') {
    return fc.oneof(
      fc
        .date({ min: new Date('2026-12-01'), max: new Date('2190-01-01'), noInvalidDate: true })
        .map((d) => d.toISOString()),
      fc.constantFrom(...times),
    );
  }
  if (schema.format === 'date') {
    return fc.constantFrom(...dates);
  }
  if (schema.format === 'usd') {
    return amounts;
  }
  if (schema.format === 'signed-usd') {
    return fc.oneof(amounts, fc.constantFrom('-0.000000001', '-1', '-8999999999.999999999', '--1', '-'));
  }
  if (schema.pattern !== undefined) {
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength: schema.maxLength ?? 20 });
  }
  return fc.string({
    unit: 'grapheme',
    minLength: schema.minLength ?? 0,
    maxLength: Math.min(schema.maxLength ?? 30, 30),
  });
}

/** In most cases all required fields are present, and no unknown fields. */
function objectFor({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, name)]),
  );
  const unknown = fc.dictionary(
    fc.oneof(hostileText, fc.constantFrom('id', 'org_id', 'role')),
    fc.jsonValue(),
    {
      maxKeys: 2,
    },
  );
  const optional = Object.keys(fields).filter((name) => !required.includes(name));
  // With very many fields, a random half of them is hardly ever valid as a whole.
  const few = fc
    .subarray(optional, { maxLength: Math.min(optional.length, 3) })
    .chain((names) => fc.record(pick(fields, [...required, ...names])));
  return fc.oneof(
    {
      weight: 14,
      arbitrary: optional.length > 12 ? few : fc.record(fields, { requiredKeys: [...required] }),
    },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.record(fields, { requiredKeys: [...required] }), unknown)
        .map(([a, b]) => ({ ...a, ...b })),
    },
  );
}

function pick<Value>(from: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
