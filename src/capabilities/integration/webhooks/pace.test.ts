/** Many misbehaving receivers at once must not affect a good one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { type Receiver, startReceiver } from '../../../../test/support/webhook-receiver.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../../test/support/webhooks.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
const org = useOrg(world);
let webhooks: Webhooks;
const receivers: Receiver[] = [];
/** Longer than the rest of the test takes on any machine. */
const timeoutMs = 120_000;

beforeAll(() => {
  webhooks = controlWebhooks(world, { timeoutMs, stopWaitMs: 50 });
});
afterAll(async () => {
  await webhooks.stop();
  for (const receiver of receivers) {
    await receiver.close();
  }
});

const misbehaviours: Parameters<typeof startReceiver>[0][] = [
  () => undefined,
  (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 50);
    response.on('close', () => clearInterval(timer));
  },
  (_response, _received, socket) => void socket.resetAndDestroy(),
  (response) => void response.end(Buffer.alloc(10_000_000, 'a')),
  (response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
];

test('delivers to a good receiver while every attempt to the others is in flight', async () => {
  const good = await startReceiver();
  receivers.push(good);
  const bad = await Promise.all(
    [...misbehaviours, ...misbehaviours].map((behaviour) => startReceiver(behaviour)),
  );
  receivers.push(...bad);
  for (const { url } of bad) {
    await subscribe(world, org, url);
  }
  // More hanging receivers than slots for slow ones.
  for (let i = 0; i < 70; i += 1) {
    await subscribe(world, org, `${bad[0]?.url}/${i}`);
  }
  const hanging = bad[0] as Receiver;
  await makeBudget(world, org, 'for those that hang');
  await webhooks.begin();
  await eventually(() => expect(hanging.received).toHaveLength(71));

  const id = await subscribe(world, org, good.url);
  const events = 20;
  for (let i = 0; i < events; i += 1) {
    await makeBudget(world, org, `budget ${i}`);
  }
  await webhooks.begin();
  await eventually(() => expect(good.received.length).toBeGreaterThanOrEqual(events));
  expect(new Set(good.ids()).size).toBe(events);
  const path = `/v1/orgs/${org.id}/webhooks/${id}/deliveries?state=delivered&limit=200`;
  await eventually(async () => {
    const { json } = await world.request('GET', path, { key: org.ownerKey });
    expect(json.data).toHaveLength(events);
  });
  expect(hanging.received, 'still at their first attempt').toHaveLength(71);
});
