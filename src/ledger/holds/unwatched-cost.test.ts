import { expect, test } from 'vitest';
import { holdOf } from '../../../test/support/ledger-values.ts';
import { holdOfRecord, holdRecord, holdsLine, holdsOfLine, unsettledUsd } from './hold.ts';

const hold = { ...holdOf('dec_1'), amounts: { usd: 100n, tokens: 1n, requests: 1n } };

test('a hold that expires is posted with what its call may have cost beyond it, up to the maximum of the call', () => {
  expect(unsettledUsd(hold)).toBe(100n);
  expect(unsettledUsd({ ...hold, goesOn: { usd: '30', maxUsd: '500' } })).toBe(130n);
  expect(unsettledUsd({ ...hold, goesOn: { usd: '30', maxUsd: '110' } })).toBe(110n);
  // Several attempts may hold more than one costs.
  expect(unsettledUsd({ ...hold, goesOn: { usd: '30', maxUsd: '90' } })).toBe(100n);
});

test('what a call may cost beyond its hold, and its growth, are stored with the hold', () => {
  const growth = { usd: 9007199254740993n, tokens: 7n, requests: 0n };
  const paced = { ...hold, goesOn: { usd: '30', maxUsd: '9007199254740993' }, growth };
  expect(holdOfRecord(holdRecord(paced))).toEqual(paced);
  expect(holdsOfLine(holdsLine([paced, hold]))).toEqual([paced, hold]);
});
