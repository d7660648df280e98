import { ServiceUnavailable } from '../../platform/service-unavailable.ts';

/**
 * Processes items together and, if that fails, one by one, so that one bad item does not hold up the others. Throws the first error
 * after each item was tried. Throws immediately if the database is unavailable.
 */
export async function eachIfAllFail<Item>(
  items: readonly Item[],
  process: (some: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  try {
    await process(items);
  } catch (error) {
    if (items.length < 2 || error instanceof ServiceUnavailable) {
      throw error;
    }
    const failures: unknown[] = [];
    for (const item of items) {
      await process([item]).catch((failure: unknown) => failures.push(failure));
    }
    if (failures.length > 0) {
      throw failures[0];
    }
  }
}
