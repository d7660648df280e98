/**
 * Runs a step of a job for each item, one after the other. A failed item does not delay the others: all errors are thrown together
 * at the end, so that the run counts as failed. `failed` is the text after the number of failures in the message.
 */
export async function runForEach<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
  failed: string,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      await run(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, `${failures.length} ${failed}`);
  }
}
