/** Price updates, and changes that wait for an operator. */
import type { World } from '../harness.ts';

/** Body of an update with one model. */
export function priceUpdate(inputUsd: string, model = 'updated') {
  return {
    catalog: {
      schema: 1,
      date: '2026-11-15',
      sources: { test: { name: 'Test list', url: 'https://prices.example' } },
      models: [
        {
          model,
          provider: 'acme',
          source: 'test',
          as_of: '2026-11-15',
          rates: { input_usd_per_million: inputUsd },
        },
      ],
    },
  };
}

/** Creates a change of the model's price that waits for an operator. The model must be new. */
export async function pendingPriceChange(world: World, model: string): Promise<string> {
  const update = (inputUsd: string) =>
    world.request('POST', '/v1/admin/price-updates', {
      key: world.operatorKey,
      body: priceUpdate(inputUsd, model),
    });
  await update('1');
  // A version replaces another one with the same start.
  world.clock.advanceSeconds(1);
  const { json } = await update('9');
  return json.models[0].change_id;
}
