import { expect, test } from 'vitest';
import { binaryArray, writeValue } from './binary-values.ts';
import { ByteWriter } from './byte-writer.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function encoded(...value: [type: Parameters<typeof writeValue>[1], value: unknown]): string {
  const writer = new ByteWriter();
  writeValue(writer, ...value);
  return hex(writer.take());
}

const header = (hasNull: number, oid: string, length: string) =>
  `00000001${`0000000${hasNull}`}${oid}${length}00000001`;

test('encodes an array with its header, its elements and its nulls', () => {
  expect(hex(binaryArray('int8', [1n, null, '-2']))).toBe(
    `${header(1, '00000014', '00000003')}000000080000000000000001ffffffff00000008fffffffffffffffe`,
  );
  expect(hex(binaryArray('timestamptz', [new Date('2000-01-01T00:00:00.001Z'), new Date(0)]))).toBe(
    `${header(0, '000004a0', '00000002')}0000000800000000000003e800000008fffca2fec4c82000`,
  );
  expect(hex(binaryArray('bool', [true, undefined]))).toBe(
    `${header(1, '00000010', '00000002')}0000000101ffffffff`,
  );
  expect(hex(binaryArray('int4', []))).toBe('000000000000000000000017');
});

test('encodes a field like the element of an array', () => {
  const element = (type: 'text' | 'int4', value: unknown) => hex(binaryArray(type, [value])).slice(40);
  for (const text of ['', 'plain', 'ä€😀', 'x'.repeat(65), '\ud800']) {
    expect(encoded('text', text)).toBe(element('text', text));
  }
  expect(encoded('int4', 7)).toBe(element('int4', 7));
  expect(encoded('int4', null)).toBe('ffffffff');
  expect(encoded('jsonb', { a: 1n })).toBe(`0000000a01${hex(Buffer.from('{"a":"1"}'))}`);
  const texts = ['a', 'ä'];
  const array = hex(binaryArray('text', texts));
  expect(encoded('text[]', texts)).toBe(`${(array.length / 2).toString(16).padStart(8, '0')}${array}`);
});

test('an array has its own buffer of exactly its size, whatever its texts', () => {
  for (const texts of [[], ['a'], ['ä€😀', null, 'x'.repeat(200)], Array(1_000).fill('ö'.repeat(40))]) {
    const bytes = binaryArray('text', texts);
    expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
  }
});

test('throws for a value that does not fit its type', () => {
  expect(() => binaryArray('int8', [2n ** 63n])).toThrow(RangeError);
  expect(() => binaryArray('int4', [2 ** 31])).toThrow(RangeError);
  expect(() => binaryArray('timestamptz', [new Date(Number.NaN)])).toThrow(RangeError);
});
