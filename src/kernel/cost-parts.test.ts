import { expect, test } from 'vitest';
import {
  type CostPart,
  codeOfUnit,
  kindOfCode,
  namedKinds,
  negatedParts,
  readParts,
  requestedCode,
  scaledParts,
  sumOfParts,
  unsplitCode,
  writeParts,
} from './cost-parts.ts';

const parts: readonly CostPart[] = [
  { code: 'i', quantity: 1_000n, nanos: 3_000_000n },
  { code: codeOfUnit('tool:look/up.9'), quantity: -2n, nanos: -7n },
  { code: 'j', quantity: 1n, nanos: -5n },
];

test('parts are read as they were written, and lists are joined as texts', () => {
  expect(writeParts(parts)).toBe('i1000,3000000;u:tool:look/up.9,-2,-7;j1,-5;');
  expect(readParts(writeParts(parts))).toEqual(parts);
  expect(readParts(writeParts(parts) + writeParts(parts))).toEqual([...parts, ...parts]);
  expect(readParts('')).toEqual([]);
});

test('a sum has each kind once, without those that cancel out', () => {
  const [input, unit, adjustment] = parts as [CostPart, CostPart, CostPart];
  expect(sumOfParts(parts, [input, adjustment], negatedParts([unit]))).toEqual([
    { code: 'i', quantity: 2_000n, nanos: 6_000_000n },
    { code: 'j', quantity: 2n, nanos: -10n },
  ]);
});

test('every kind on the wire has a code, and no other text', () => {
  for (const kind of [...namedKinds, 'unit:web_search', 'unit:input']) {
    expect(kindOfCode(requestedCode(kind) ?? '')).toBe(kind);
  }
  expect(requestedCode('unsplit')).toBe(unsplitCode);
  for (const kind of ['', 'i', 'unit:', 'web_search', 'toString', 'Input']) {
    expect(requestedCode(kind)).toBeUndefined();
  }
});

test('a cost is divided in proportion to other parts, to the nanodollar', () => {
  const listed: readonly CostPart[] = [
    { code: 'i', quantity: 10n, nanos: 1n },
    { code: 'c', quantity: 5n, nanos: 0n },
    { code: 'o', quantity: 3n, nanos: 2n },
  ];
  for (const [nanos, shares] of [
    [100n, [33n, 0n, 67n]],
    [3n, [1n, 0n, 2n]],
    [1n, [0n, 0n, 1n]],
    [0n, [0n, 0n, 0n]],
  ] as const) {
    const scaled = scaledParts(listed, nanos);
    expect(scaled.map((part) => part.nanos)).toEqual(shares);
    expect(scaled.map(({ quantity }) => quantity)).toEqual([10n, 5n, 3n]);
  }
});
