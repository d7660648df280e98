import { expect, test } from 'vitest';
import type { Hold } from '../holds/hold.ts';
import type { LogLocation, OpenHold } from '../holds/org-ledger-state.ts';
import { DurableHolds } from './durable-holds.ts';
import type { HoldLog } from './hold-log.ts';

/** A log whose writes end when the test says so. */
function heldUpLog() {
  const lines: string[][] = [];
  const removed: (LogLocation | undefined)[] = [];
  const endings: { resolve(location: LogLocation): void; reject(error: Error): void }[] = [];
  const log = {
    append: (holds: readonly Hold[]) => {
      lines.push(holds.map(({ id }) => id));
      return new Promise<LogLocation>((resolve, reject) => endings.push({ resolve, reject }));
    },
    remove: (locations: readonly (LogLocation | undefined)[]) => {
      removed.push(...locations.filter((location) => location !== undefined));
    },
    close: () => undefined,
  } as Partial<HoldLog> as HoldLog;
  return { log, lines, removed, endings };
}

const openHold = (id: string): OpenHold => ({
  hold: { id } as Hold,
  ending: false,
  logLocation: undefined,
  isForgotten: false,
  dueSecond: Number.NaN,
});
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('writes holds that arrive during a write together, as the next line', async () => {
  const { log, lines, endings } = heldUpLog();
  const durable = new DurableHolds(log, () => undefined);
  const order: string[] = [];
  const take = (id: string) => durable.take(openHold(id)).then(() => order.push(id));
  const first = [take('a'), take('b')];
  await turn();
  const second = [take('c')];
  await turn();
  second.push(take('d'));
  expect(lines).toEqual([['a', 'b']]);
  endings[0]?.resolve({ path: '1' });
  await Promise.all(first);
  expect(lines).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(order).toEqual(['a', 'b']);
  endings[1]?.resolve({ path: '1' });
  await Promise.all(second);
});

test('removes a hold that ended while it was written, and skips one that ended before', async () => {
  const { log, lines, removed, endings } = heldUpLog();
  const durable = new DurableHolds(log, () => undefined);
  const [during, before] = [openHold('during'), openHold('before')];
  const written = durable.take(during);
  await turn();
  const skipped = durable.take(before);
  durable.remove([during, before]);
  const location = { path: '1' };
  endings[0]?.resolve(location);
  await Promise.all([written, skipped]);
  expect(lines).toEqual([['during']]);
  expect(removed).toEqual([location]);
});

test('releases holds that could not be written before it rejects, and continues', async () => {
  const { log, endings } = heldUpLog();
  const lost: string[] = [];
  const durable = new DurableHolds(log, (opens) => void lost.push(...opens.map(({ hold }) => hold.id)));
  const [taken, extended] = [openHold('taken'), openHold('extended')];
  const failing = [durable.take(taken), durable.add([extended])];
  await turn();
  endings[0]?.reject(new Error('full'));
  for (const one of failing) {
    await expect(one).rejects.toThrow('full');
  }
  expect(lost).toEqual(['taken']);
  const next = durable.take(openHold('next'));
  await turn();
  endings[1]?.resolve({ path: '1' });
  await next;
});
