import { expect, test } from 'vitest';
import { findRepeatedTypeNames } from '../scripts/type-names.ts';

const find = (texts: Record<string, string>) => findRepeatedTypeNames(new Map(Object.entries(texts)));

test('a type name that two files declare is found, exported or not, with both files', () => {
  expect(
    find({ 'a.ts': 'export interface Row {\n}\n', 'b.ts': 'type Row<Key> = readonly [Key];\n' }),
  ).toEqual(['type Row is declared in a.ts, b.ts: one name, one type']);
  expect(find({ 'a.ts': 'export abstract class Row {}\n', 'b.ts': 'class Row {}\n' })).toHaveLength(1);
  expect(find({ 'a.ts': 'type Row =\n  | string;\n', 'b.ts': 'interface Row {}\n' })).toHaveLength(1);
});

test('an imported type and a repeated declaration in one file are not found', () => {
  expect(
    find({ 'a.ts': 'export type Row = string;\n', 'b.ts': 'import {\n  type Row,\n} from "./a.ts";\n' }),
  ).toEqual([]);
  expect(find({ 'a.ts': 'interface Row {}\ninterface Row {}\n', 'b.ts': 'interface Rows {}\n' })).toEqual([]);
  expect(find({ 'a.ts': 'const name = { type: Row };\n', 'b.ts': 'type Row = string;\n' })).toEqual([]);
});
