import { expect, test } from 'vitest';
import { createNameResolution } from './name-resolution.ts';

const noNames = { aliases: null, patterns: null, catalog_aliases: null, catalog_patterns: null };

test('caches the models of a name, and keeps at most 10,000 names', () => {
  const names = createNameResolution([{ ...noNames, model: 'large', aliases: ['big'] }]);
  const first = names.otherModels('big');
  expect(first).toEqual(['large']);
  expect(names.otherModels('big')).toBe(first);
  for (let i = 0; i < 10_000; i += 1) {
    names.otherModels(`unknown-${i}`);
  }
  const again = names.otherModels('big');
  expect(again).toEqual(first);
  expect(again).not.toBe(first);
});

test('lists each model once, in the order of the steps', () => {
  const names = createNameResolution([
    { ...noNames, model: 'by-alias', aliases: ['openai/m-latest'] },
    { ...noNames, model: 'by-pattern', patterns: ['openai/*', 'm-*'] },
  ]);
  expect(names.otherModels('openai/m-latest')).toEqual([
    'by-alias',
    'by-pattern',
    'm-latest',
    'openai/m',
    'm',
  ]);
});

test('prefers names of the operator to those of the catalogue, also if the operator has set none', () => {
  const names = createNameResolution([
    { ...noNames, model: 'a', aliases: ['x'] },
    { ...noNames, model: 'b', catalog_aliases: ['x', 'y'] },
    { ...noNames, model: 'c', aliases: [], catalog_aliases: ['z'], catalog_patterns: ['c:*'] },
  ]);
  expect(names.otherModels('x')).toEqual(['a']);
  expect(names.otherModels('y')).toEqual(['b']);
  expect(names.otherModels('z')).toEqual([]);
  expect(names.otherModels('c:1')).toEqual(['c']);
});
