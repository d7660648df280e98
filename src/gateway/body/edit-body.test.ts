import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../../test/support/seeds.ts';
import { editBody, editEach, removeMembers } from './edit-body.ts';

const { forAll } = seedsOf('gateway-bodies');

const padded = (value: unknown, spaces: number) => JSON.stringify(value, null, spaces);

test('a changed member has its new value, and every other member its old one', () => {
  forAll(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 }),
      fc.integer({ min: 0, max: 3 }),
      fc.option(fc.nat(), { nil: undefined }),
      (fields, spaces, max) => {
        const body = { ...fields, ...(max !== undefined && { max_tokens: max }) };
        const text = padded(body, spaces);
        const edited = JSON.parse(editBody(Buffer.from(text), { max_tokens: 7 }).toString());
        expect(edited).toEqual(JSON.parse(padded({ ...body, max_tokens: 7 }, 0)));
      },
    ),
  );
});

test('only the bytes of the value change', () => {
  const edit = (text: string, changes: Record<string, string | number | boolean>) =>
    editBody(Buffer.from(text), changes).toString();
  expect(edit('{"a":1.0, "max_tokens" :\t99 ,"b":"}{\\""}', { max_tokens: 5 })).toBe(
    '{"a":1.0, "max_tokens" :\t5 ,"b":"}{\\""}',
  );
  expect(edit('{ }', { max_tokens: 5 })).toBe('{"max_tokens":5 }');
  expect(edit('{"stream":true}', { 'stream_options.include_usage': true })).toBe(
    '{"stream_options":{"include_usage":true},"stream":true}',
  );
  expect(edit('{"stream_options":{"x":1}}', { 'stream_options.include_usage': true })).toBe(
    '{"stream_options":{"include_usage":true,"x":1}}',
  );
  expect(edit('{"stream_options":{"include_usage":false}}', { 'stream_options.include_usage': true })).toBe(
    '{"stream_options":{"include_usage":true}}',
  );
  expect(edit('{"stream_options":null,"n":1}', { 'stream_options.include_usage': true })).toBe(
    '{"stream_options":{"include_usage":true},"n":1}',
  );
  expect(edit('{"model":"ä","x":"ö"}', { model: 'ü' })).toBe('{"model":"ü","x":"ö"}');
});

test('a renamed member keeps its value and its place', () => {
  const renamed = editBody(Buffer.from('{"a" : [1, 2],"b":3}'), { c: 4 }, { a: 'd', x: 'y' });
  expect(renamed.toString()).toBe('{"c":4,"d":[1, 2],"b":3}');
});

test('a member of each object in a list changes, and no other byte', () => {
  const edit = (text: string) => editEach(Buffer.from(text), 'requests', 'model', 'b').toString();
  expect(
    edit('{"model":"a","requests":[ {"model" : "a","x":[{"model":"a"}]}, 7,{"y":"]"},{"model":null} ]}'),
  ).toBe('{"model":"a","requests":[ {"model" : "b","x":[{"model":"a"}]}, 7,{"y":"]"},{"model":"b"} ]}');
  for (const text of ['{"requests":[]}', '{"requests":{"model":"a"}}', '{"model":"a"}']) {
    expect(edit(text)).toBe(text);
  }
});

test('a body without some members has every other member with its value', () => {
  forAll(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 }),
      fc.integer({ min: 0, max: 3 }),
      fc.func(fc.boolean()),
      (fields, spaces, isRemoved) => {
        const names = new Set(Object.keys(fields).filter((name) => isRemoved(name)));
        const kept = Object.entries(fields).filter(([name]) => !names.has(name));
        const without = removeMembers(Buffer.from(padded(fields, spaces)), names).toString();
        expect(JSON.parse(without)).toEqual(JSON.parse(padded(Object.fromEntries(kept), 0)));
      },
    ),
  );
});
