import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DurableSpool, type DurableSpoolOptions } from './durable-spool.ts';
import { ServiceUnavailable } from './service-unavailable.ts';

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'purser-spool-')), 'spool');
});
afterEach(async () => {
  await Promise.all(spools.splice(0).map((spool) => spool.close()));
  rmSync(directory, { recursive: true, force: true });
});

const spools: DurableSpool[] = [];
function open(options: DurableSpoolOptions = {}): DurableSpool {
  const spool = new DurableSpool(directory, options);
  spools.push(spool);
  return spool;
}

const room = 1_000_000;
const files = () => readdirSync(directory).filter((name) => name.endsWith('.spool'));
const textsOf = async (spool: DurableSpool) => (await spool.takeOver(room)).map(({ text }) => text);

const deadPid = spawnSync(process.execPath, ['--version']).pid;

/** Leaves lines as a process does that is killed: in a file whose name identifies it. */
async function appendAndDie(lines: readonly string[]): Promise<void> {
  const spool = open();
  await Promise.all(lines.map((line) => spool.append(line)));
  for (const name of files()) {
    renameSync(join(directory, name), join(directory, name.replace(`-${process.pid}-`, `-${deadPid}-`)));
  }
}

test('the lines of a killed process are read by the next one, which deletes them once they are released', async () => {
  await appendAndDie(['one', 'two', 'three']);
  const spool = open();
  const lines = await spool.takeOver(room);
  expect(lines.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  expect(await textsOf(open()), 'the owner is alive').toEqual([]);
  for (const { segment } of lines) {
    expect(files()).toHaveLength(1);
    await spool.release(segment);
  }
  expect(files()).toEqual([]);
});

test('a line that was cut short is dropped, and a file without lines is deleted', async () => {
  await appendAndDie(['whole']);
  appendFileSync(join(directory, files()[0] as string), '{"cut');
  writeFileSync(join(directory, 'empty.1.none.spool'), '');
  expect(await textsOf(open())).toEqual(['whole']);
  expect(files()).toHaveLength(1);
});

test('two processes in one directory do not touch the files of each other while both are alive', async () => {
  const [one, two] = [open(), open()];
  const [segment] = await Promise.all([one.append('of one'), two.append('of two')]);
  expect([await textsOf(one), await textsOf(two)]).toEqual([[], []]);
  await one.release(segment);
  expect(files()).toHaveLength(1);
  await two.close();
  expect(await textsOf(one), 'left by a process that was stopped').toEqual(['of two']);
});

test('an owner whose file was taken over while it lives writes its lines again', async () => {
  const owner = open();
  await owner.append('before');
  // As if another host had taken the owner for dead.
  const [name] = files() as [string];
  renameSync(join(directory, name), join(directory, 'taken.1.none.spool'));
  await owner.append('after');
  const texts = files().flatMap((file) => readFileSync(join(directory, file), 'utf8').trim().split('\n'));
  expect(texts.sort()).toEqual(['after', 'after', 'before']);
  await owner.append('later');
  expect(files()).toHaveLength(2);
});

test('files of another host are taken over once they are idle', async () => {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'other.1.ffffffffffff-1-ffffffffffff.spool');
  writeFileSync(path, 'far\n');
  expect(await textsOf(open())).toEqual([]);
  const aMinuteAgo = Date.now() / 1_000 - 60;
  utimesSync(path, aMinuteAgo, aMinuteAgo);
  expect(await textsOf(open())).toEqual(['far']);
});

test('takes over no more than there is room for', async () => {
  await appendAndDie(['x'.repeat(100)]);
  await appendAndDie(['y'.repeat(100)]);
  const spool = open();
  expect(await spool.takeOver(150)).toHaveLength(1);
  expect(await spool.takeOver(150)).toHaveLength(1);
  expect(await spool.takeOver(150)).toHaveLength(0);
});

test('starts a new file at the maximum size and deletes each with its last line', async () => {
  const spool = open({ segmentBytesMax: 10 });
  const first = await spool.append('0123456789');
  const second = await spool.append('next');
  expect([first === second, files().length]).toEqual([false, 2]);
  await spool.release(first);
  expect(files()).toHaveLength(1);
  await spool.release(second);
  expect(files()).toEqual([]);
  await spool.append('again');
  expect(files()).toHaveLength(1);
});

test('a directory that cannot be written fails as unavailable, and works again when it can', async () => {
  const spool = open();
  writeFileSync(directory, 'a file in its place');
  await expect(spool.append('one')).rejects.toThrow(ServiceUnavailable);
  rmSync(directory);
  await spool.append('two');
  expect(readFileSync(join(directory, files()[0] as string), 'utf8')).toBe('two\n');
});

test.each(['sync', 'os'] as const)(
  'a file that cannot be deleted holds nothing up (%s)',
  async (durability) => {
    const spool = open({ durability, segmentBytesMax: 4 });
    const first = await spool.append('one');
    const second = await spool.append('two');
    const away = `${directory}-away`;
    renameSync(directory, away);
    writeFileSync(directory, 'a file in its place');
    await spool.release(second);
    await spool.release(first);
    await expect(spool.append('three')).rejects.toThrow(ServiceUnavailable);
    rmSync(directory);
    await spool.append('four');
    expect(readFileSync(join(directory, files()[0] as string), 'utf8')).toBe('four\n');
    rmSync(away, { recursive: true });
  },
);
