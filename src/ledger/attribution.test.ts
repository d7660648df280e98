import { describe, expect, test } from 'vitest';
import type { Attribution } from '../contract/attribution.ts';
import { attributed, lockedFieldError } from './attribution.ts';

const key: Attribution = {
  values: { team: 'search', customer_id: 'acme', tags: { env: 'live', app: 'bot' } },
  locked: ['customer_id', 'tags'],
};

describe('the attribution of a key', () => {
  test('returns the same request if the key has none', () => {
    const body = { team: 'ads' };
    expect(attributed(body, undefined)).toBe(body);
  });

  test('completes the fields that the request leaves out', () => {
    expect(attributed({}, key)).toEqual(key.values);
    expect(attributed({ workflow: 'w', tags: { run: '7' } }, key)).toEqual({
      ...key.values,
      workflow: 'w',
      tags: { env: 'live', app: 'bot', run: '7' },
    });
  });

  test('does not add empty tags', () => {
    expect(attributed({ team: 'ads' }, { values: { team: 'search' }, locked: [] })).toEqual({ team: 'ads' });
  });

  test('leaves a stated value that is not locked, or equal', () => {
    const body = { team: 'ads', customer_id: 'acme', tags: { env: 'live' } };
    expect(attributed(body, key)).toEqual({ ...body, tags: { env: 'live', app: 'bot' } });
    const unlocked = { ...key, locked: [] };
    expect(attributed({ tags: { env: 'test' } }, unlocked)).toMatchObject({
      tags: { env: 'test', app: 'bot' },
    });
  });

  test.each([
    [{ customer_id: 'other' }, 'customer_id'],
    [{ tags: { env: 'test' } }, 'tags.env'],
    [{ tags: { app: '' } }, 'tags.app'],
  ])('returns the field of %j that contradicts a lock', (body, field) => {
    expect(attributed(body, key)).toBe(field);
  });
});

test('the error of a locked field names the field and, in bulk, the run', () => {
  const { code, status, details } = lockedFieldError('tags.env', 3);
  expect([code, status, details]).toEqual(['forbidden', 403, { field: 'tags.env', run_index: 3 }]);
  expect(lockedFieldError('team').details).toEqual({ field: 'team' });
});
