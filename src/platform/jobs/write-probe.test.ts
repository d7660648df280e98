import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../log.ts';
import { OverCapacity } from '../service-unavailable.ts';
import { createWriteProbe, probeEveryMs, staleAfterMs } from './write-probe.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A running probe whose writes do what `write` says, and the results it has reported. */
function probing() {
  const state = { write: async (): Promise<unknown> => undefined, writes: 0, progressAtMs: 0 };
  const results: boolean[] = [];
  const probe = createWriteProbe({
    target: 'test',
    log: createLog('silent'),
    nowMs: () => Date.now(),
    write() {
      state.writes += 1;
      return state.write();
    },
    progressAtMs: () => state.progressAtMs,
    onChange: (succeeds) => results.push(succeeds),
  });
  return { state, results, probe };
}

const fails = () => Promise.reject(new Error('read-only'));
const hangs = () => new Promise<never>(() => undefined);
const rounds = (count: number) => vi.advanceTimersByTimeAsync(count * probeEveryMs);

test('reports the first result at once, and two failures in a row', async () => {
  const { state, results, probe } = probing();
  await probe.probe();
  probe.start();
  expect(results).toEqual([true]);
  state.write = fails;
  await rounds(1);
  expect(results).toEqual([true]);
  await rounds(1);
  expect(results).toEqual([true, false]);
  state.write = async () => undefined;
  await rounds(1);
  expect(results).toEqual([true, false]);
  await rounds(1);
  expect(results).toEqual([true, false, true]);
  probe.stop();
  const { writes } = state;
  await rounds(5);
  expect(state.writes).toBe(writes);
});

test('counts a real write that fails at once, and recovers with the probes', async () => {
  const { results, probe } = probing();
  await probe.probe();
  probe.start();
  probe.reportFailure(new Error('no space left on device'));
  expect(results).toEqual([true, false]);
  await rounds(1);
  probe.reportFailure(new Error('no space left on device'));
  await rounds(1);
  expect(results).toEqual([true, false]);
  await rounds(1);
  expect(results).toEqual([true, false, true]);
  probe.stop();
  probe.reportFailure(new Error('closed'));
  expect(results).toEqual([true, false, true]);
});

test('does not follow every single failure or success', async () => {
  const { state, results, probe } = probing();
  await probe.probe();
  probe.start();
  for (let round = 0; round < 20; round += 1) {
    state.write = round % 2 === 0 ? fails : async () => undefined;
    await rounds(1);
  }
  expect(results).toEqual([true]);
  state.write = fails;
  await rounds(2);
  for (let round = 0; round < 20; round += 1) {
    state.write = round % 2 === 0 ? async () => undefined : fails;
    await rounds(1);
  }
  expect(results).toEqual([true, false]);
  probe.stop();
});

test('a write that waits behind other work is reported only once that work hangs too', async () => {
  const { state, results, probe } = probing();
  await probe.probe();
  probe.start();
  state.write = () => Promise.reject(new OverCapacity('the database is busy'));
  for (let round = 0; round < 20; round += 1) {
    state.progressAtMs = Date.now();
    await rounds(1);
  }
  expect(results).toEqual([true]);
  await vi.advanceTimersByTimeAsync(staleAfterMs + probeEveryMs);
  expect(results).toEqual([true, false]);
  probe.stop();
});

test('reports a write that hangs, without starting another one', async () => {
  const { state, results, probe } = probing();
  await probe.probe();
  probe.start();
  state.write = hangs;
  await vi.advanceTimersByTimeAsync(staleAfterMs + probeEveryMs);
  expect(results).toEqual([true, false]);
  await rounds(10);
  expect(state.writes).toBe(2);
  probe.stop();
});

test('a full queue says nothing about writes, unless it stays full', async () => {
  const { state, results, probe } = probing();
  await probe.probe();
  probe.start();
  state.write = () => Promise.reject(new OverCapacity('busy'));
  await rounds(3);
  expect(results).toEqual([true]);
  await rounds(3);
  expect(results).toEqual([true, false]);
  probe.stop();
});

test('a process is not ready if the first write fails', async () => {
  const { state, results, probe } = probing();
  state.write = fails;
  await probe.probe();
  expect(results).toEqual([false]);
});
