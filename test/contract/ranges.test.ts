/** A well-formed value that is too large, negative or too late is `out_of_range`, on every route. */
import type { TSchema } from 'typebox';
import { describe, expect, test } from 'vitest';
import { compileBody, compileQuery } from '../../src/platform/http/routes/validation.ts';
import { declaredRoutes } from '../support/declared-routes.ts';

interface Schema {
  readonly type?: string | string[];
  readonly format?: string;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

interface Field {
  /** The name of the field in field errors. */
  readonly name: string;
  readonly schema: Schema;
  /** Returns a body in which only this field has a value. */
  bodyWith(value: unknown): unknown;
}

function fieldsOf(schema: Schema, name = '', bodyWith: Field['bodyWith'] = (value) => value): Field[] {
  const own = name === '' ? [] : [{ name, schema, bodyWith }];
  const properties = Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
    fieldsOf(inner, name === '' ? key : `${name}.${key}`, (value) => bodyWith({ [key]: value })),
  );
  const items =
    schema.items === undefined ? [] : fieldsOf(schema.items, `${name}[0]`, (value) => bodyWith([value]));
  const named = [schema.additionalProperties, ...Object.values(schema.patternProperties ?? {})].flatMap(
    (inner) =>
      typeof inner === 'object' ? fieldsOf(inner, `${name}.a`, (value) => bodyWith({ a: value })) : [],
  );
  const alternatives = (schema.anyOf ?? []).flatMap((inner) =>
    fieldsOf(inner, name, bodyWith).filter((field) => field.name !== name),
  );
  return [...own, ...properties, ...items, ...named, ...alternatives];
}

const tooLarge = '1'.padEnd(400, '0');
/** Returns well-formed values that no field accepts, in JSON. */
function wrongValues({ type, format, minimum }: Schema): string[] {
  const types = [type ?? []].flat();
  const numbers = types.some((one) => one === 'integer' || one === 'number')
    ? [
        '1e300',
        '-1e300',
        '1e999',
        '-1e999',
        tooLarge,
        ...(minimum !== undefined && minimum >= 0 ? ['-1'] : []),
      ]
    : [];
  const texts: Record<string, string[]> = {
    usd: ['-1', '-0.5', '9000000000', '9000000000.5', '100000000000', tooLarge, `-${tooLarge}`],
    'signed-usd': ['9000000000', '-9000000000', tooLarge, `-${tooLarge}`],
    percent: ['-1', '-100', '1000', tooLarge],
    'date-time': ['1899-12-31T23:59:59Z', '2200-01-01T00:00:00Z', '0001-01-01T00:00:00+00:00'],
  };
  return [...numbers, ...(texts[format ?? ''] ?? []).map((text) => JSON.stringify(text))];
}

const inBodies = declaredRoutes().flatMap(({ method, path, body }) =>
  body === undefined
    ? []
    : fieldsOf(body as Schema)
        .filter(({ schema }) => wrongValues(schema).length > 0)
        .map((field) => ({ title: `${method} ${path}: ${field.name}`, body, field })),
);

describe('in a body', () => {
  test('there are fields to check', () => expect(inBodies.length).toBeGreaterThan(100));

  const compiled = new Map<TSchema, ReturnType<typeof compileBody>>();
  test.each(inBodies.map((one) => [one.title, one] as const))('%s', (_, { body, field }) => {
    const check = compiled.get(body) ?? compileBody(body);
    compiled.set(body, check);
    for (const value of wrongValues(field.schema)) {
      const found = check(field.bodyWith(JSON.parse(value))).find(({ field: name }) => name === field.name);
      expect(found?.code, value.slice(0, 40)).toBe('out_of_range');
    }
  });
});

const inQueries = declaredRoutes().flatMap(({ path, query }) =>
  query === undefined
    ? []
    : Object.entries(query.properties as Record<string, Schema>)
        .filter(([, schema]) => wrongValues(schema).length > 0)
        .map(([name, schema]) => ({ title: `${path}: ${name}`, query, name, schema })),
);

describe('in a query', () => {
  test('there are parameters to check', () => expect(inQueries.length).toBeGreaterThan(30));

  test.each(inQueries.map((one) => [one.title, one] as const))('%s', (_, { query, name, schema }) => {
    const check = compileQuery(query);
    const texts =
      schema.format === undefined
        ? ['-1', '99999999999999999999', tooLarge, `-${tooLarge}`]
        : wrongValues(schema).map((value) => JSON.parse(value) as string);
    for (const text of texts) {
      const found = check({ [name]: text }).find(({ field }) => field === name);
      expect(found?.code, text.slice(0, 40)).toBe('out_of_range');
    }
  });

  const ranges = declaredRoutes().filter(
    ({ query }) => query?.properties.from !== undefined || query?.properties.to !== undefined,
  );
  test('there are time ranges to check', () => expect(ranges.length).toBeGreaterThan(5));

  test.each(ranges.map((route) => [route.id, route] as const))(
    '%s rejects `from` after `to`',
    (_, { query }) => {
      const check = compileQuery(query as never);
      const errorsOf = (from: string, to: string) =>
        check({ from, to }).map(({ field, code }) => `${field} ${code}`);
      expect(errorsOf('2026-11-02T00:00:00Z', '2026-11-01T23:59:59Z')).toEqual(['to out_of_range']);
      // The same instant with another offset is not earlier.
      expect(errorsOf('2026-11-02T00:00:00Z', '2026-11-02T02:00:00+02:00')).toEqual([]);
      expect(errorsOf('2026-11-02T00:00:00Z', 'yesterday')).toEqual(['to invalid_format']);
    },
  );
});

describe('a malformed value is `invalid_format` or `invalid_type`', () => {
  const money = inBodies.find(({ field }) => field.schema.format === 'usd');
  test.each(['', '1e3', '1.', '.5', '+1', '--1', '1.0000000001', '00000000001', '1,5', ' 1'])(
    '%j',
    (text) => {
      const { body, field } = money as NonNullable<typeof money>;
      const found = compileBody(body)(field.bodyWith(text)).find(({ field: name }) => name === field.name);
      expect(found?.code).toBe('invalid_format');
    },
  );
});
