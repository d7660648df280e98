/** Schema changes that take something away, in a request and in a response. */
import { describe, expect, test } from 'vitest';
import { schemaChanges } from '../../scripts/contract/schema-changes.ts';
import { normalize } from '../../scripts/contract/schema-form.ts';

const place = { root: 'it', path: '' };
const request = (before: object, after: object) =>
  schemaChanges(normalize(before), normalize(after), 'request', place);
const answer = (before: object, after: object) =>
  schemaChanges(normalize(before), normalize(after), 'answer', place);

const text = { type: 'string' };
const orNull = { type: ['string', 'null'] };
const words = (...values: string[]) => ({ type: 'string', enum: values });
const object = (properties: object, required: string[] = [], more: object = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
});
const list = (items: object) => ({ type: 'array', items });

type Row = readonly [what: string, before: object, after: object, inRequest: string, inAnswer: string];

/** An empty string means that nothing is taken away. */
const rows: readonly Row[] = [
  ['nothing', text, text, '', ''],
  ['a description', text, { ...text, description: 'new' }, '', ''],
  ['another type', text, { type: 'integer' }, 'it: no longer takes string', 'it: may now be integer'],
  ['a type more', text, orNull, '', 'it: may now be null'],
  ['a type less', orNull, text, 'it: no longer takes null', ''],
  [
    'a whole number instead of any',
    { type: 'number' },
    { type: 'integer' },
    'it: no longer takes number',
    '',
  ],
  ['any number instead of a whole one', { type: 'integer' }, { type: 'number' }, '', 'it: may now be number'],
  ['a type where there was none', {}, text, 'it: no longer takes any type', ''],
  ['no type where there was one', text, {}, '', 'it: may now be any type'],
  ['a value less', words('a', 'b'), words('a'), 'the value "b" was removed', 'the value "b" was removed'],
  ['a value more', words('a'), words('a', 'b'), '', ''],
  ['values where any would do', text, words('a'), 'it: now takes only certain values', ''],
  ['any text instead of values', words('a'), text, '', 'it: is no longer one of the published values'],
  [
    'values as alternatives',
    words('a', 'b'),
    {
      anyOf: [
        { const: 'b', ...text },
        { const: 'a', ...text },
      ],
    },
    '',
    '',
  ],
  [
    'a pattern for more values',
    words('a', 'b'),
    { anyOf: [words('a', 'b', 'c'), { ...text, pattern: '^x:' }] },
    '',
    '',
  ],
  [
    'a pattern instead of a value',
    words('a', 'b'),
    { anyOf: [words('a'), { ...text, pattern: '^x:' }] },
    'it: an alternative was removed or narrowed',
    'the value "b" was removed',
  ],
  ['a field more', object({ a: text }), object({ a: text, b: text }), '', ''],
  [
    'a field less',
    object({ a: text, b: text }),
    object({ a: text }),
    'b in it: the field was removed',
    'b in it: the field was removed',
  ],
  [
    'a field required',
    object({ a: text }),
    object({ a: text }, ['a']),
    'a in it: the field became required',
    '',
  ],
  ['a new field required', object({}), object({ a: text }, ['a']), 'a in it: the field became required', ''],
  [
    'a field optional',
    object({ a: text }, ['a']),
    object({ a: text }),
    '',
    'a in it: the field may now be left out',
  ],
  [
    'a field within',
    object({ a: list(object({ b: orNull })) }),
    object({ a: list(object({ b: text })) }),
    'a[].b in it: no longer takes null',
    '',
  ],
  ['items where any would do', { type: 'array' }, list(text), '[] in it: no longer takes any type', ''],
  [
    'closed',
    object({}),
    object({}, [], { additionalProperties: false }),
    'it: fields beyond those named are now refused',
    '',
  ],
  ['opened', object({}, [], { additionalProperties: false }), object({}), '', ''],
  [
    'other values of a map',
    object({}, [], { additionalProperties: text }),
    object({}, [], { additionalProperties: { type: 'integer' } }),
    '* in it: no longer takes string',
    '* in it: may now be integer',
  ],
  [
    'a map by pattern',
    { patternProperties: { '^.*$': orNull } },
    { patternProperties: { '^.*$': text } },
    '* in it: no longer takes null',
    '',
  ],
  [
    'no map any more',
    { patternProperties: { '^.*$': text } },
    {},
    '* in it: not changed from undefined',
    '* in it: may now be any type',
  ],
  ['a bound tightened', { maxLength: 5 }, { maxLength: 4 }, 'it: maxLength was tightened from 5 to 4', ''],
  ['a bound more', {}, { minimum: 1 }, 'it: minimum was tightened from none to 1', ''],
  ['a bound loosened', { minItems: 2 }, { minItems: 1 }, '', ''],
  [
    'an alternative less',
    { anyOf: [text, list(text)] },
    { anyOf: [text] },
    'it: an alternative was removed or narrowed',
    'it: an alternative was removed or narrowed',
  ],
  [
    'an alternative more',
    { anyOf: [text, list(text)] },
    { anyOf: [text, list(text), { type: 'boolean' }] },
    '',
    'it: an alternative was added',
  ],
  ['alternatives in another order', { anyOf: [text, list(text)] }, { oneOf: [list(text), text] }, '', ''],
  ['another default', { default: 1 }, { default: 2 }, 'it: the default changed from 1 to 2', ''],
  [
    'another format',
    { format: 'usd' },
    { format: 'uri' },
    'it: format changed from "usd" to "uri"',
    'it: format changed from "usd" to "uri"',
  ],
  ['a format more', {}, { format: 'uri' }, 'it: format changed from undefined to "uri"', ''],
  ['a format less', { format: 'uri' }, {}, '', 'it: format changed from "uri" to undefined'],
  ['a keyword nobody thought of', {}, { multipleOf: 3 }, 'it: multipleOf changed', ''],
  [
    'nothing fits any more',
    {},
    object({ a: false as unknown as object }),
    'it: no longer takes any type',
    '',
  ],
];

describe.each([
  ['a request', request, 3],
  ['an answer', answer, 4],
] as const)('%s', (_side, changes, column) => {
  test.each(rows)('%s', (...row) => {
    const [, before, after] = row;
    const expected = row[column];
    const found = changes(before, after);
    expect(found).toEqual(expected === '' ? [] : expect.arrayContaining([expect.stringContaining(expected)]));
  });
});

test('the form of a schema does not depend on how it is written', () => {
  const one = { type: 'object', properties: { b: text, a: { const: 'x' } }, required: ['b', 'a'] };
  const other = {
    required: ['a', 'b'],
    properties: { a: { enum: ['x'] }, b: { ...text, title: 'B' } },
    type: ['object'],
  };
  expect(JSON.stringify(normalize(one))).toBe(JSON.stringify(normalize(other)));
});
