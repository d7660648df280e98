/** Declarations of migrations. */
import { describe, expect, test } from 'vitest';
import { parseMigration } from './migration-files.ts';

const declared = (lines: readonly string[], sql: string) =>
  parseMigration('9001_teapots.sql', [...lines.map((line) => `-- ${line}`), sql].join('\n'));

describe('a file', () => {
  test.each([
    [['readable-from: 0.1.0'], 'its first line must be `-- phase: expand`'],
    [['phase: shrink', 'readable-from: 0.1.0'], 'its first line must be `-- phase: expand`'],
    [['phase: expand'], 'declare the oldest version'],
    [['phase: expand', 'readable-from: soon'], 'declare the oldest version'],
    [
      ['phase: expand', 'readable-from: 0.1.0', 'required-from: 0.2.0'],
      'required-from takes a version, and only',
    ],
    [
      ['phase: contract', 'readable-from: 0.1.0', 'required-from: x'],
      'required-from takes a version, and only',
    ],
  ])('a file that declares %j is refused', (lines, message) => {
    expect(() => declared(lines, 'SELECT 1')).toThrow(`migrations/9001_teapots.sql: ${message}`);
  });

  test('keeps its checksum when its declaration changes, and not when its SQL does', () => {
    const lines = ['phase: contract', 'readable-from: 0.2.0'];
    const { checksum } = declared(lines, 'SELECT 1');
    expect(declared([...lines, 'required-from: 0.3.0'], 'SELECT 1').checksum).toBe(checksum);
    expect(declared(lines, 'SELECT 2').checksum).not.toBe(checksum);
  });
});
