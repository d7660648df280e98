/** Every list can be sorted, and rejects unknown sort orders. */
import { expect, test } from 'vitest';
import { compileQuery } from '../../src/platform/http/routes/validation.ts';
import { declaredRoutes } from '../support/declared-routes.ts';

/**
 * Reports are not lists of a resource: they return sums over groups that the caller chooses, ordered by time and size.
 */
const reports = ['usage.read', 'usage.own'];

const lists = declaredRoutes().filter(
  ({ id, query }) =>
    query?.properties.limit !== undefined && query.properties.cursor !== undefined && !reports.includes(id),
);

test('there are lists to check', () => expect(lists.length).toBeGreaterThan(30));

test.each(lists.map((route) => [route.id, route] as const))('%s', (_, { query }) => {
  const check = compileQuery(query as never);
  const words = (query?.properties.sort as { enum?: string[] } | undefined)?.enum ?? [];
  expect(words.length).toBeGreaterThan(0);
  for (const sort of words) {
    expect(check({ sort })).toEqual([]);
    expect(words).toContain(sort.startsWith('-') ? sort.slice(1) : `-${sort}`);
  }
  for (const sort of ['colour', '', '--created_at', 'created_at,id']) {
    expect(check({ sort })).toMatchObject([{ field: 'sort', code: 'invalid_value' }]);
  }
});
