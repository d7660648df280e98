import { expect, test } from 'vitest';
import { runForEach } from './run-for-each.ts';

test('runs all items although some fail, and throws their errors at the end', async () => {
  const seen: number[] = [];
  const run = async (item: number) => {
    seen.push(item);
    if (item % 2 === 1) {
      throw new Error(`${item} is odd`);
    }
  };
  await expect(runForEach([1, 2, 3, 4], run, 'items could not be halved')).rejects.toMatchObject({
    message: '2 items could not be halved',
    errors: [new Error('1 is odd'), new Error('3 is odd')],
  });
  expect(seen).toEqual([1, 2, 3, 4]);
  await runForEach([2, 4], run, 'items could not be halved');
});
