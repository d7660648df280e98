import { expect, test } from 'vitest';
import type { CallPrices } from '../unpriced-models/index.ts';
import { findSettledPrice } from './find-price.ts';

test('a price that cannot be loaded fails the settlement, and leaves no rejected promise behind', async () => {
  const unavailable = () => Promise.reject(new Error('unavailable'));
  const prices: Pick<CallPrices, 'find' | 'findForCall' | 'version'> = {
    find: unavailable,
    findForCall: unavailable,
    version: () => new Promise(() => undefined),
  };
  const decided = { model: 'm', priceVersion: 'v', admittedAtMs: 0, at: {} };
  for (const served of ['m', 'm-2026-01-01']) {
    await expect(findSettledPrice(prices as CallPrices, 'org', served, decided)).rejects.toThrow(
      'unavailable',
    );
  }
});
