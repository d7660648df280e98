import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceUnavailable } from './service-unavailable.ts';
import { Spool } from './spool.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'purser-spool-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function readBack(spool: Spool): Promise<string[][]> {
  const parts: string[][] = [];
  for await (const lines of spool.lines()) {
    parts.push(lines);
  }
  return parts;
}

test('returns the lines unchanged and in batches, from a file without a name', async () => {
  const spool = await Spool.open(directory);
  try {
    expect(await readBack(spool)).toEqual([]);
    // Multi-byte characters cross block boundaries, and one line is longer than a block.
    const lines = Array.from({ length: 5_000 }, (_, index) => `${index} żółć 🦀 ${'é'.repeat(index % 50)}`);
    lines.splice(2_500, 0, 'x'.repeat(100_000), '');
    await spool.append(['left by a failed attempt']);
    await spool.empty();
    for (let at = 0; at < lines.length; at += 700) {
      await spool.append(lines.slice(at, at + 700));
    }
    await spool.append([]);
    const parts = await readBack(spool);
    expect(parts.flat()).toEqual(lines);
    expect(parts.length).toBeGreaterThan(10);
    expect(await readdir(directory)).toEqual([]);
  } finally {
    await spool.close();
  }
});

test('fails with ServiceUnavailable if the disk cannot be written to', async () => {
  await expect(Spool.open(join(directory, 'missing'))).rejects.toBeInstanceOf(ServiceUnavailable);
});
