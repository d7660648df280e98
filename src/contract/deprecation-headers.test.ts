import { expect, test } from 'vitest';
import { deprecationHeaders } from './deprecation-headers.ts';

const announcement = { since: '2026-07-22', sunset: 'Wed, 31 Dec 2036 23:59:59 GMT' };

test('the headers of a route with a successor', () => {
  expect(
    deprecationHeaders({ ...announcement, replacement: '/v1/capacity/forecasts' }, 'https://docs.example'),
  ).toEqual({
    deprecation: '@1784678400',
    sunset: 'Wed, 31 Dec 2036 23:59:59 GMT',
    link: '<https://docs.example>; rel="deprecation", </v1/capacity/forecasts>; rel="successor-version"',
  });
});

test('without a successor the link is to the documentation alone', () => {
  expect(deprecationHeaders(announcement, 'https://docs.example').link).toBe(
    '<https://docs.example>; rel="deprecation"',
  );
});
