/** A deployment of Azure has no price: that of the model behind it applies, which the gateway learns from its responses. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, type GatewayWorld, useGatewayWorld } from '../../test/support/gateway-world.ts';
import { formatUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();
let usual: GatewayWorld['connections'];
let number = 0;
let deployment = '';

const messages = [{ role: 'user', content: 'Say hello to the world' }];
/** Dollars per million tokens. */
const listed = { small: ['1', '10'], middle: ['2', '20'], large: ['10', '100'] } as const;
const defaultRates = { input_usd_per_million: '5', output_usd_per_million: '50' };

beforeAll(async () => {
  usual = gateway.connections;
  for (const [name, [input, output]] of Object.entries(listed)) {
    await price(`azure%2Fserved-${name}`, input, output);
  }
  gateway.provider.outputOf = () => 30;
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai')];
  number += 1;
  deployment = `team-chat-${number}`;
});
afterEach(async () => {
  gateway.connections = usual;
  gateway.provider.reportedModel = undefined;
  await onUnpriced({ on_unpriced: 'refuse' });
});

async function price(model: string, input: string, output: string, org = ''): Promise<void> {
  const { status } = await gateway.world.request(
    'PUT',
    org === '' ? `/v1/admin/models/${model}` : `/v1/admin/orgs/${org}/prices/${model}`,
    {
      key: gateway.world.operatorKey,
      body: {
        ...(org === '' && { provider: 'azure' }),
        input_usd_per_million: input,
        output_usd_per_million: output,
      },
    },
  );
  expect(status).toBeLessThan(300);
}

async function onUnpriced(body: object): Promise<void> {
  const path = `/v1/orgs/${gateway.org.id}/unpriced-policy`;
  expect((await gateway.world.request('PUT', path, { key: gateway.org.ownerKey, body })).status).toBe(200);
}

const holdDefault = () => onUnpriced({ on_unpriced: 'hold_default', ...defaultRates });

async function send(more: object = {}, url = gateway.url) {
  const response = await fetch(`${url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: deployment, messages, max_tokens: 100, ...more }),
  });
  const text = await response.text();
  return { status: response.status, text, heldUsd: Number(response.headers.get('x-svc-held-usd')) };
}

/** Calls the deployment, served by this model. Returns the dollars that were held, and the run. */
async function call(served: string | undefined, more: object = {}) {
  gateway.provider.reportedModel = served;
  gateway.world.clock.advanceSeconds(1);
  const { status, text, heldUsd } = await send(more);
  expect([status, text]).toEqual([200, text]);
  const run = await eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    return (await gateway.runs())[0];
  });
  return { heldUsd, run };
}

/** Calls the deployment until the models of its responses are known: they are stored in the background. */
async function learned(served: string): Promise<void> {
  await eventually(async () => {
    await call(served);
    const rows = await gateway.world.db.query(
      'SELECT model FROM gateway_deployment_models WHERE deployment = $1 AND model LIKE $2',
      [deployment, `%${served}`],
    );
    expect(rows).toHaveLength(1);
  });
}

/** The hold of a call at rates per million tokens, to compare: its output is at most 100 tokens. */
function isHeldAt(heldUsd: number, outputUsdPerMillion: number): void {
  const outputUsd = (100 * outputUsdPerMillion) / 1e6;
  expect(heldUsd).toBeGreaterThan(outputUsd);
  expect(heldUsd).toBeLessThan(outputUsd * 1.5);
}

function billed(input: bigint, output: bigint): string {
  const { inputTokens = 0, outputTokens = 0 } = gateway.provider.bill.at(-1) ?? {};
  return formatUsd((BigInt(inputTokens) * input + BigInt(outputTokens) * output) * 1_000n);
}

describe('a deployment whose name has no price', () => {
  test('is refused and never called, unless the organization chose a price for such names', async () => {
    const before = gateway.provider.requests.length;
    const { status, text } = await send();
    const { code, message } = JSON.parse(text).error;
    expect([status, code, message]).toEqual([
      400,
      'model_without_price',
      expect.stringMatching(
        new RegExp(`purser connect azure --name \\S+ --deployment ${deployment}=gpt-4o$`),
      ),
    ]);
    expect(gateway.provider.requests).toHaveLength(before);
  });

  test('is held at the price of its stated model, then at that of a more expensive one that answers', async () => {
    const stated = { deploymentModels: { [deployment]: 'served-middle' } };
    gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai', stated)];
    const first = await call('served-small');
    isHeldAt(first.heldUsd, 20);
    expect(first.run).toMatchObject({
      cost_usd: billed(1n, 10n),
      marks: [],
      priced_as: 'azure/served-small',
    });
    await learned('served-small');
    isHeldAt((await call('served-large')).heldUsd, 20);
    await learned('served-large');
    isHeldAt((await call('served-large')).heldUsd, 100);
  });

  test('is held at the price of its stated model in any case of its name', async () => {
    const stated = { deploymentModels: { [deployment.toUpperCase()]: 'served-middle' } };
    gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai', stated)];
    isHeldAt((await call('served-small')).heldUsd, 20);
  });

  test('is refused if its stated model has no price, or is that of another deployment', async () => {
    for (const deploymentModels of [{ [deployment]: 'never-priced' }, { other: 'served-small' }]) {
      gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai', { deploymentModels })];
      expect((await send()).status).toBe(400);
    }
  });

  test('is held at the default rates once, then at the price of the model that answers', async () => {
    await holdDefault();
    const first = await call('served-small');
    isHeldAt(first.heldUsd, 50);
    expect(first.run).toMatchObject({ cost_usd: billed(1n, 10n), marks: [], model: deployment });
    await learned('served-small');
    const next = await call('served-small');
    isHeldAt(next.heldUsd, 10);
    expect(next.run).toMatchObject({
      model: deployment,
      served_model: 'served-small',
      priced_as: 'azure/served-small',
      cost_usd: billed(1n, 10n),
      marks: [],
    });
  });

  test('is held at the price of its model after a first call that was recorded at $0', async () => {
    await onUnpriced({ on_unpriced: 'record' });
    const first = await call('served-large', { stream: true });
    expect(first.heldUsd).toBe(0);
    expect(first.run).toMatchObject({ cost_usd: billed(10n, 100n) });
    await learned('served-large');
    isHeldAt((await call('served-large')).heldUsd, 100);
    await gateway.capAbove(0.005);
    const denied = await send();
    await gateway.cap('1000');
    expect([denied.status, JSON.parse(denied.text).error.code]).toEqual([402, 'spend_cap_exceeded']);
  });

  test('stays callable when the organization refuses models without a price: its model has one', async () => {
    await holdDefault();
    await learned('served-small');
    await onUnpriced({ on_unpriced: 'refuse' });
    isHeldAt((await call('served-small')).heldUsd, 10);
  });

  test('has the price of the model it is known to have if a response names none', async () => {
    await holdDefault();
    await learned('served-middle');
    const { run } = await call('');
    expect(run).toMatchObject({ served_model: null, cost_usd: billed(2n, 20n), marks: [] });
  });

  test('is known to another connection only by its own responses', async () => {
    await holdDefault();
    await learned('served-small');
    gateway.connections = [connectionTo(gateway.provider.url, 'azure_openai', { id: 'con_other' })];
    isHeldAt((await call('served-small')).heldUsd, 50);
  });

  test('is held at the most expensive price of several connections that may serve it', async () => {
    await holdDefault();
    const [one] = gateway.connections;
    const other = connectionTo(gateway.provider.url, 'azure_openai', { id: 'con_second' });
    await learned('served-small');
    gateway.connections = [other];
    await learned('served-large');
    gateway.connections = [one as typeof other, other];
    isHeldAt((await call('served-small')).heldUsd, 100);
  });
});

describe('a response that names another model', () => {
  test('of a lower price does not lower the hold below that of a model that was served before', async () => {
    await holdDefault();
    await learned('served-large');
    await learned('served-small');
    const { heldUsd, run } = await call('served-large');
    isHeldAt(heldUsd, 100);
    expect(run?.marks).toEqual([]);
  });

  test('of a lower price does not lower the hold below the price of the name', async () => {
    await price(`azure%2F${deployment}`, '10', '100');
    await learned('served-small');
    isHeldAt((await call('served-small')).heldUsd, 100);
  });

  test('of a higher price raises the hold of the next call above the price of the name', async () => {
    await price(`azure%2F${deployment}`, '1', '10');
    const first = await call('served-large');
    expect(first.run).toMatchObject({ cost_usd: billed(10n, 100n), marks: ['over_hold'] });
    await learned('served-large');
    const next = await call('served-large');
    isHeldAt(next.heldUsd, 100);
    expect(next.run).toMatchObject({ cost_usd: billed(10n, 100n), marks: [] });
  });

  test('without a price is posted as held, and marked', async () => {
    await holdDefault();
    await learned('served-small');
    await onUnpriced({ on_unpriced: 'refuse' });
    const { heldUsd, run } = await call('served-unknown');
    expect(run).toMatchObject({ cost_usd: String(heldUsd), marks: ['unpriced'] });
  });

  test('changes no hold of a provider that is no deployment, and is charged in full', async () => {
    gateway.connections = usual;
    deployment = 'gpt-test';
    await price('served-plain', '10', '100');
    const first = await call('served-plain');
    const next = await call('served-plain');
    expect([first.heldUsd, next.run]).toEqual([
      next.heldUsd,
      expect.objectContaining({ cost_usd: billed(10n, 100n), marks: ['over_hold'] }),
    ]);
  });
});

describe('a price of the organization for exactly the name of a deployment', () => {
  test('is held and charged, whatever model answers', async () => {
    await price(deployment, '2', '20', gateway.org.id);
    for (const served of ['served-small', 'served-large', 'served-unpriced']) {
      const { heldUsd, run } = await call(served);
      isHeldAt(heldUsd, 20);
      expect(run).toMatchObject({
        served_model: served,
        priced_as: deployment,
        cost_usd: billed(2n, 20n),
        marks: [],
      });
    }
    const rows = await gateway.world.db.query(
      'SELECT model FROM gateway_deployment_models WHERE deployment = $1',
      [deployment],
    );
    expect(rows).toEqual([]);
  });

  test('replaces what was learned', async () => {
    await holdDefault();
    await learned('served-large');
    await price(deployment, '2', '20', gateway.org.id);
    isHeldAt((await call('served-large')).heldUsd, 20);
  });
});

test('a list price for the name of a deployment is held, unless a more expensive model is known to answer', async () => {
  await price(deployment, '2', '20');
  const first = await call('served-small');
  isHeldAt(first.heldUsd, 20);
  expect(first.run).toMatchObject({ cost_usd: billed(1n, 10n) });
  await learned('served-large');
  isHeldAt((await call('served-small')).heldUsd, 100);
});

test('an alias for the name of a deployment selects the price, and its learned model the hold', async () => {
  const { status } = await gateway.world.request('PUT', '/v1/admin/models/azure%2Fserved-middle', {
    key: gateway.world.operatorKey,
    body: {
      provider: 'azure',
      input_usd_per_million: '2',
      output_usd_per_million: '20',
      aliases: [deployment],
    },
  });
  expect(status).toBe(200);
  const { heldUsd, run } = await call(undefined);
  isHeldAt(heldUsd, 20);
  expect(run).toMatchObject({ cost_usd: billed(2n, 20n) });
  await learned('served-small');
  isHeldAt((await call('served-small')).heldUsd, 20);
});

test('what was learned of deployments survives a restart', async () => {
  await holdDefault();
  await learned('served-small');
  gateway.world = await gateway.world.restart();
  const { url } = await gateway.world.listen();
  gateway.provider.reportedModel = 'served-small';
  isHeldAt((await send({}, url)).heldUsd, 10);
  Object.assign(gateway, { url });
});
