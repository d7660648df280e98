import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../../../test/support/seeds.ts';
import { parseByItems } from './json-items.ts';
import { newTally } from './json-limits.ts';
import { JsonScan, surveyJson } from './json-survey.ts';

const { forAll } = seedsOf('json-survey');

const list = { field: 'runs', max: 20 };
const noJson = Symbol('no JSON');

function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    return noJson;
  }
}

/** Returns undefined if the items are not found: the text must then be parsed at once. */
function byItems(text: string): unknown {
  const bytes = Buffer.from(text);
  const { items } = surveyJson(bytes, list);
  return items === undefined ? undefined : outcome(() => parseByItems(bytes, items));
}

describe('parseByItems returns the same value as JSON.parse', () => {
  test.each([
    '{"runs":[]}',
    '{"runs":[ \n\t\r]}',
    '{ "record" : true , "runs" : [ {"a":1} , 2,"three, [4]", [5,{"runs":[6,7]}] ] , "last": null }',
    '{"x\\"":1,"runs":[{"name":"\\"],["}]}',
    '{"runs":[{"name":"ünï😀"},{"name":"\\ud83d\\ude00"}]}',
    '{"runs":1,"runs":[1,2]}',
    '{"runs":[1,2],"runs":3}',
    '{"runs":[1,2],"\\u0072uns":[3]}',
    '{"runs":[1,2],"runs":"\\u0000"}',
    '{"runs":[1,,2]}',
    '{"runs":[,]}',
    '{"runs":[1,]}',
    '{"runs":[1 2]}',
    '{"runs":[{"a":[1},{"b":2]}]}',
    '{"runs":[1]]}',
    '{"runs":[1]}}',
    '["runs":[1,2]]',
    '{"runs":[1,2]} trailing',
    '\ufeff{"runs":[1]}',
  ])('%s', (text) => {
    expect(byItems(text)).toEqual(outcome(() => JSON.parse(text)));
  });

  test.each([
    '{"runs":[1],"runs":[2]}',
    '{"x\\"runs":[1]}',
    '{"inner":{"runs":[1]}}',
    '[["runs"]]',
    '{"runs":{}}',
    '{"runs":[1',
    '{"runs":[}}',
    `{"runs":[${'1,'.repeat(list.max)}1]}`,
  ])('%s is not split into items', (text) => {
    expect(byItems(text)).toBeUndefined();
  });

  test('parseByItems returns the same value as JSON.parse for any items, also if the text is broken', () => {
    const member = fc.tuple(
      fc.constantFrom('runs', 'record', 'x\\"', 'runs"'),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const text = fc
      .tuple(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.array(member, { maxLength: 2 }), fc.boolean())
      .map(([runs, others, spaced]) =>
        JSON.stringify({ ...Object.fromEntries(others), runs }, undefined, spaced ? 1 : 0),
      );
    const broken = fc
      .tuple(text, fc.nat(), fc.nat(3), fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', ' ', '1'))
      .map(([whole, at, cut, added]) => {
        const place = at % (whole.length + 1);
        return whole.slice(0, place) + added + whole.slice(place + cut);
      });
    forAll(
      fc.property(fc.oneof(text, broken), (one) => {
        const items = byItems(one);
        fc.pre(items !== undefined);
        expect(items).toEqual(outcome(() => JSON.parse(one)));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('a text is rejected before parsing if it has', () => {
  const excessOf = (text: string, max = 0) => surveyJson(Buffer.from(text), { field: 'runs', max }).excess;
  const times = (count: number, make: (index: number) => string) =>
    Array.from({ length: count }, (_, i) => make(i)).join();
  const names = (count: number, from = 0) => `{${times(count, (i) => `"n${i + from}":0`)}}`;

  test('more than 64 levels of nesting', () => {
    expect(excessOf('['.repeat(64))).toBeUndefined();
    expect(excessOf('['.repeat(65))).toMatch(/nested/);
    expect(excessOf('"[[["'.repeat(100))).toBeUndefined();
  });

  test('more than 1000 names in one object, at any depth', () => {
    expect(excessOf(`{"a":[${names(1_000)},${names(1_000)}]}`)).toBeUndefined();
    expect(excessOf(`{"a":[${names(1_001)}]}`)).toMatch(/1000 names/);
    expect(excessOf(`{"a":{},"b":"${':'.repeat(5_000)}"}`)).toBeUndefined();
  });

  test('more than 50000 values, or a hundred per item of its list if that is more', () => {
    expect(excessOf(`[${times(49_999, () => '1')}]`)).toBeUndefined();
    expect(excessOf(`[${times(50_001, () => '1')}]`)).toMatch(/50000 values/);
    expect(excessOf(`[${times(25_001, () => '{}')}]`)).toMatch(/50000 values/);
    expect(excessOf(`[${times(50_001, () => '1')}]`, 1_000)).toBeUndefined();
    expect(excessOf(`[${times(100_001, () => '1')}]`, 1_000)).toMatch(/100000 values/);
  });

  test('tens of thousands of different names, but not if they are repeated', () => {
    const objects = (count: number, make: (index: number) => string) => `[${times(count, make)}]`;
    expect(
      excessOf(
        objects(1_000, () => names(100)),
        10_000,
      ),
    ).toBeUndefined();
    expect(
      excessOf(
        objects(200, (i) => names(100, i * 100)),
        10_000,
      ),
    ).toBeUndefined();
    expect(
      excessOf(
        objects(300, (i) => names(100, i * 100)),
        10_000,
      ),
    ).toMatch(/different names/);
  });
});

test('a scan in steps of any size finds the same as a scan in one step', () => {
  forAll(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.nat(3),
      fc.integer({ min: 1, max: 20 }),
      (value, spaces, step) => {
        const bytes = Buffer.from(JSON.stringify({ a: value, '"\\': ['\\"', '\\\\'], b: 1.5 }, null, spaces));
        const whole = new JsonScan(bytes, newTally());
        expect(whole.scanTo(bytes.length)).toBe(true);
        const stepwise = new JsonScan(bytes, newTally());
        for (let to = step; !stepwise.scanTo(Math.min(to, bytes.length)); to += step) {
          expect(to).toBeLessThan(bytes.length + step);
        }
        expect(stepwise.survey().members).toBe(whole.survey().members);
        expect(stepwise.values).toBe(whole.values);
      },
    ),
  );
});
