import { expect, test } from 'vitest';
import { createLog } from '../platform/log.ts';
import { clockAheadMsMax, clockWatch } from './clock-watch.ts';

test('reports once that the ledger is ahead of the clock by more than the bound, and once that it no longer is', async () => {
  const lines: { level: string; aheadSeconds?: number }[] = [];
  const changes: boolean[] = [];
  let aheadMs = 0;
  const { runOnce } = clockWatch({
    ledger: { clockAheadMs: async () => aheadMs },
    log: createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    onChange: (isAhead) => void changes.push(isAhead),
  });
  for (const ms of [0, clockAheadMsMax, clockAheadMsMax + 1, 86_400_000, clockAheadMsMax, 0]) {
    aheadMs = ms;
    await runOnce();
  }
  expect(changes).toEqual([true, false]);
  expect(lines).toMatchObject([{ level: 'error', aheadSeconds: 60 }, { level: 'info' }]);
});
