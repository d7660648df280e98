/** All receivers of one org respond quickly at first, and then hang. Another org must not be affected. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { type Receiver, startReceiver } from '../../../../test/support/webhook-receiver.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../../test/support/webhooks.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
let webhooks: Webhooks;
const receivers: Receiver[] = [];

beforeAll(() => {
  // Hanging receivers hang until the end of the test. Responses count as quick even on a busy machine.
  webhooks = controlWebhooks(world, { timeoutMs: 600_000, latencyMs: 1, stopWaitMs: 50 });
});
afterAll(async () => {
  await webhooks.stop();
  for (const receiver of receivers) {
    await receiver.close();
  }
});

const title = 'an org whose receivers answer quickly and then hang leaves half of all slots to the others';
test(title, async () => {
  const subscriptions = 26;
  const quickAnswers = 30;
  const share = 96;
  const [hostile, other] = [await world.createOrg(), await world.createOrg()];
  const answered = new Map<string, number>();
  let hanging = 0;
  const trap = await startReceiver((response) => {
    const url = response.req.url ?? '';
    const count = answered.get(url) ?? 0;
    answered.set(url, count + 1);
    if (count < quickAnswers) {
      response.writeHead(204).end();
    } else {
      hanging += 1;
    }
  });
  const good = await startReceiver();
  receivers.push(trap, good);
  for (let i = 0; i < subscriptions; i += 1) {
    await subscribe(world, hostile, `${trap.url}/${i}`);
  }
  for (let i = 0; i < quickAnswers + 10; i += 1) {
    await makeBudget(world, hostile, `budget ${i}`);
  }
  await webhooks.begin();
  await eventually(() => expect(hanging).toBe(share));

  await subscribe(world, other, good.url);
  await makeBudget(world, other);
  await webhooks.begin();
  await eventually(() => expect(good.received).toHaveLength(1));
  expect(hanging, 'no more than its share').toBe(share);
});
