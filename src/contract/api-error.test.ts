import { expect, test } from 'vitest';
import { apiError, apiErrorWithDetails, invalidFields } from './api-error.ts';

test('the envelope of an error always has details, if only an empty object', () => {
  expect(apiError('not_found').envelope).toEqual({
    error: { code: 'not_found', message: expect.any(String), details: {} },
  });
  const limited = apiErrorWithDetails('rate_limited', { retry_after_seconds: 3 });
  expect([limited.status, limited.details]).toEqual([429, { retry_after_seconds: 3 }]);
});

test('the message of a failed validation names the first fields', () => {
  const field = (name: string) => ({ field: name, code: 'required', message: 'x' }) as const;
  expect(invalidFields(['a', 'b', 'c', 'd', 'e'].map(field)).message).toBe(
    'The request is invalid: see a, b, c and 2 more.',
  );
});
