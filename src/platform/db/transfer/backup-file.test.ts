import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBackupFile, writeBackupFile } from './backup-file.ts';
import type { TransferFrame, TransferSource } from './frames.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-backup-'));
  path = join(directory, 'backup');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const frames: TransferFrame[] = [
  { kind: 'rows', table: 'orgs', rows: 2, data: Buffer.from('a\t1\nb\t\\N\n') },
  { kind: 'rows', table: 'orgs', rows: 0, data: Buffer.alloc(0) },
  { kind: 'holds', records: ['{"id":"dec_1"}'] },
  { kind: 'end', tables: { orgs: { rows: '2', digest: '77' } }, holds: 1 },
];
const source: TransferSource = {
  header: {
    id: 'one',
    createdAt: '2026-11-16T00:00:00.000Z',
    version: '0.1.0',
    engine: 'embedded',
    migrations: [],
    tables: [{ name: 'orgs', columns: ['id', 'n'] }],
    partitions: [],
    keyCheck: null,
    holdGeneration: null,
  },
  async *frames() {
    yield* frames;
  },
};

async function read(from = 0): Promise<TransferFrame[]> {
  const file = await openBackupFile(path);
  try {
    expect(file.header).toEqual(source.header);
    const found: TransferFrame[] = [];
    for await (const frame of file.frames(from)) {
      found.push(frame.kind === 'rows' ? { ...frame, data: Buffer.from(frame.data) } : frame);
    }
    return found;
  } finally {
    await file.close();
  }
}

const write = (compressed = true, replace = false) => writeBackupFile(path, source, { compressed, replace });

test.each([true, false])('returns the frames that were written (compressed: %s)', async (compressed) => {
  const { bytes } = await write(compressed);
  expect(statSync(path).size).toBe(bytes);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await read()).toEqual(frames);
  expect(await read(2)).toEqual(frames.slice(2));
  expect(await read(9)).toEqual(frames.slice(-1));
  expect(readdirSync(directory)).toEqual(['backup']);
});

test('does not replace a file unless told to, and leaves no draft behind', async () => {
  writeFileSync(path, 'mine');
  await expect(write()).rejects.toThrow(/already exists/);
  expect(readFileSync(path, 'utf8')).toBe('mine');
  await write(true, true);
  expect(await read()).toEqual(frames);
  const failing: TransferSource = {
    ...source,
    // biome-ignore lint/correctness/useYield: fails before the first frame.
    async *frames() {
      throw new Error('disk full');
    },
  };
  await expect(writeBackupFile(path, failing, { compressed: true, replace: true })).rejects.toThrow(
    'disk full',
  );
  expect(readdirSync(directory)).toEqual(['backup']);
  expect(await read()).toEqual(frames);
});

test('rejects a file with any byte changed or missing, before anything of it is used', async () => {
  await write(false);
  const whole = readFileSync(path);
  chmodSync(path, 0o600);
  for (let at = 0; at < whole.length; at += 41) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(path, changed);
    await expect(openBackupFile(path), `byte ${at}`).rejects.toThrow(/SHA-256|not a backup|newer version/);
  }
  writeFileSync(path, whole);
  for (const bytes of [whole.length - 1, whole.length - 40, 20, 3, 0]) {
    truncateSync(path, bytes);
    await expect(openBackupFile(path), `${bytes} bytes`).rejects.toThrow(/SHA-256|not a backup/);
  }
});

test('names a file of another kind, and one of a newer version', async () => {
  writeFileSync(path, 'PK'.repeat(100));
  await expect(openBackupFile(path)).rejects.toThrow(/not a backup of Purser/);
  writeFileSync(path, `purser-backup 2\n${'x'.repeat(100)}`);
  await expect(openBackupFile(path)).rejects.toThrow(/newer version/);
  await expect(openBackupFile(join(directory, 'none'))).rejects.toThrow(/ENOENT/);
});
