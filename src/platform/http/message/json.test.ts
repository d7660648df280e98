import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../../../test/support/seeds.ts';
import type { ApiError } from '../../../contract/api-error.ts';
import { parseJsonLines, parseJsonObject, parsePlainObject } from './json.ts';

const { forAll } = seedsOf('json');

const list = { field: 'runs', max: 3 };
const parse = (text: string) => parseJsonObject(Buffer.from(text));
const errorsIn = (text: string) => parse(text).fieldErrors.map(({ field, code }) => `${field} ${code}`);

describe('lines of JSON', () => {
  const runs = (text: string | Buffer) =>
    (parseJsonLines(Buffer.from(text as Buffer), list).value as { runs: unknown[] }).runs;

  test('lines of JSON are objects, with any white space between them', () => {
    expect(runs('\n \r\n {"a":1} \n\n\t{"b":\t2}\r\n\n')).toEqual([{ a: 1 }, { b: 2 }]);
    expect(runs(Buffer.alloc(8_000_000, '\n'))).toEqual([]);
  });

  test('lines of JSON are parsed up to one more than the maximum', () => {
    expect(runs('{}\n'.repeat(9))).toHaveLength(4);
  });

  test('lines of JSON with errors are all listed', () => {
    const { fieldErrors } = parseJsonLines(
      Buffer.from('{"a":1\n{"a":1}\n[]\n{"a":1,"a":2,"b":{"c":1e400}}\n\xff', 'latin1'),
      { field: 'runs', max: 10 },
    );
    expect(fieldErrors.map(({ field, code }) => `${field} ${code}`)).toEqual([
      'runs[0] invalid_json',
      'runs[2] invalid_type',
      'runs[3] invalid_json',
      'runs[3].b.c out_of_range',
      'runs[4] invalid_body',
    ]);
  });

  test('lines of JSON with errors are listed up to a maximum', () => {
    const { fieldErrors } = parseJsonLines(Buffer.from('{\n'.repeat(5_000)), { field: 'runs', max: 5_000 });
    expect(fieldErrors).toHaveLength(100);
  });

  test('share the limits of a body', () => {
    const line = `{"a":[${Array(30_000).fill(1)}]}\n`;
    const { fieldErrors } = parseJsonLines(Buffer.from(line.repeat(5)), { field: 'runs', max: 10 });
    expect(fieldErrors).toMatchObject([{ field: 'runs[1]', code: 'invalid_body' }]);
  });
});

describe('a name that appears twice in one object is an error', () => {
  test.each([
    ['{"a":1,"a":1}', ['body invalid_json']],
    ['{"a":1,"b":2,"\\u0061":3}', ['body invalid_json']],
    ['{"a":[1,{"b":{"c":1,"c":2}}]}', ['body invalid_json']],
    ['{"a":{"x":1},"a":{"x":1}}', ['body invalid_json']],
    ['{"a":1,"a":2,"a":3,"b":{"b":1}}', ['body invalid_json', 'body invalid_json']],
    ['{"":1,"":2}', ['body invalid_json']],
    ['{"a":"a","b":["a","a"],"c":{"a":1},"d":{"a":1}}', []],
    ['{"toString":1,"constructor":{"toString":2}}', []],
    ['{"a":"\\",\\"a\\":1","b":":"}', []],
  ])('%s', (text, expected) => {
    expect(errorsIn(text)).toEqual(expected);
  });

  test('a name that appears twice in one object is an error that contains the name, truncated', () => {
    expect(parse('{"cost":1,"cost":2}').fieldErrors[0]?.message).toContain('"cost"');
    const name = 'x'.repeat(100_000);
    expect(parse(`{"${name}":1,"${name}":2}`).fieldErrors[0]?.message.length).toBeLessThan(200);
  });

  test('a name that appears twice in one object is an error in any body', () => {
    const values = fc.jsonValue({ maxDepth: 4 });
    forAll(
      fc.property(
        fc.dictionary(fc.string(), values, { minKeys: 1 }),
        fc.nat(),
        values,
        (members, at, again) => {
          const text = JSON.stringify(members);
          expect(errorsIn(text).filter((error) => error.endsWith('invalid_json'))).toEqual([]);
          const names = Object.keys(members);
          const name = names[at % names.length] as string;
          const twice = `${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(again)}}`;
          expect(errorsIn(twice)).toContain('body invalid_json');
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a number that cannot be stored exactly', () => {
  test.each([
    '1e400',
    '-1e400',
    '1e-400',
    '12345678901234567890',
    '9007199254740993',
    '0.1234567890123456789',
    '5.00000000000000000001',
    `1${'0'.repeat(500)}`,
    '4.9e-324',
  ])('a number that cannot be stored exactly is an error of its field: %s', (number) => {
    expect(errorsIn(`{"metadata":{"a":[0,${number}]}}`)).toEqual(['metadata.a[1] out_of_range']);
    expect(errorsIn(`{"a":${number},"b":1}`)).toEqual(['a out_of_range']);
  });

  test.each([
    '0',
    '-0',
    '1.0',
    '1e2',
    '1E+2',
    '0.10',
    '100e-2',
    '0e999',
    '1e21',
    '9007199254740992',
    '12345678901234567000',
    '0.30000000000000004',
    '0.10000000000000001',
    '1.7976931348623157e308',
    '5e-324',
    '0.000000000000000000001',
  ])('a number that cannot be stored exactly is not another notation of the same value: %s', (number) => {
    expect(errorsIn(`{"a":${number}}`)).toEqual([]);
  });

  test('a number that cannot be stored exactly is never written by this process', () => {
    forAll(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(errorsIn(`{"a":${JSON.stringify(number)}}`)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});

test('the paths of field errors are truncated', () => {
  const deep = `{"${'x'.repeat(1_000_000)}":[${Array(1_000).fill('1e400')}]}`;
  const { fieldErrors } = parse(deep);
  expect(fieldErrors).toHaveLength(1_000);
  expect(Math.max(...fieldErrors.map(({ field }) => field.length))).toBeLessThan(500);
});

describe('parsePlainObject', () => {
  const plain = (text: string) => parsePlainObject(Buffer.from(text));

  test.each([
    '{"model":"m","estimated_cost_usd":"0.01","input_tokens":12}',
    '{ "model" : "gpt-4.1, é" ,\n "customer_id":null }',
    '{}',
  ])('parses %s', (text) => {
    expect(plain(text)).toEqual(JSON.parse(text));
  });

  test.each([
    '{"a":"x","a":"y"}',
    '{"a":1,"a":1}',
    '{"a":"x","b":1,"a":null}',
    '{"a":1e400}',
    '{"a":12345678901234567890}',
    '{"a":5.00000000000000000001}',
    '{"a":1e-400}',
    '{"a":[]}',
    '{"a":{}}',
    '{"a":"\\u0061"}',
    '{"__proto__":1}',
    '{"a":1',
    '"a"',
  ])('leaves to parseJsonObject: %s', (text) => {
    expect(plain(text)).toBeUndefined();
  });
});

test('a body of half a million names is rejected before it is parsed', () => {
  const names = Array.from({ length: 500_000 }, (_, i) => `"n${i}":0`).join();
  const errorsOf = (text: string) => {
    try {
      parse(text);
    } catch (error) {
      return ((error as ApiError).details as { fields: unknown[] }).fields;
    }
    return undefined;
  };
  expect(errorsOf(`{"metadata":{${names}}}`)).toMatchObject([{ field: 'body', code: 'invalid_body' }]);
});
