/**
 * Conformance of `wrap` in every wire format: the request and its response are those of the provider, and the ledger has what the provider
 * bills, or an upper bound of it.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FormatName } from '../../../src/kernel/providers/formats.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { formatSamples } from '../../../test/support/format-samples.ts';
import { expectBilled, useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { type ProviderError, providerErrors } from '../../../test/support/provider-errors.ts';
import { meteredFormats } from './call-plan.ts';
import { createPurser, type Purser } from './node.ts';

const gateway = useGatewayWorld();
let purser: Purser;
/** A model whose name says that it does not show its reasoning. */
const hidingModel = 'o4-test';
/** The `fetch` of an SDK that is wrapped. */
let send: typeof fetch;

beforeAll(async () => {
  await gateway.world.request('PUT', `/v1/admin/models/${hidingModel}`, {
    key: gateway.world.operatorKey,
    body: { provider: 'openai', input_usd_per_million: '1', output_usd_per_million: '10' },
  });
  const { secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']);
  // No test is about its duration.
  purser = createPurser({ url: gateway.url, key, timeoutMs: 600_000, requestTimeoutMs: 600_000 });
  const sdk = { withOptions: (options: { fetch: typeof fetch }) => options };
  send = (purser.wrap(sdk) as unknown as { fetch: typeof fetch }).fetch;
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  const { provider } = gateway;
  provider.fault = undefined;
  provider.reportedModel = undefined;
  provider.outputOf = () => 5;
  provider.hiddenTokens = 0;
  forget();
  await gateway.cap('1000');
});

function forget(): void {
  const { requests, bill, sent } = gateway.provider;
  requests.length = 0;
  bill.length = 0;
  sent.length = 0;
}

/** The newest run, once everything is posted. */
async function lastRuns() {
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).slice(0, 1);
}

async function expectUpperBound(): Promise<void> {
  const { bill } = gateway.provider;
  expect(bill).toHaveLength(1);
  const [run] = await lastRuns();
  expect(run).toMatchObject({ status: 'failed', metadata: { usage_estimated: true } });
  expect(run?.input_tokens).toBeGreaterThanOrEqual(Number(bill[0]?.inputTokens));
  expect(run?.output_tokens).toBeGreaterThanOrEqual(Number(bill[0]?.outputTokens));
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe.each(meteredFormats)('$name', (format) => {
  const sample = formatSamples[format.name as FormatName];
  const model = String(sample.body.model);
  const { output, requestsUsage, reasonsOnRequest } = format.request;
  const maximum = (tokens: number) => (output === undefined ? {} : { [output.compatibleMaxName]: tokens });

  const call = (more: object = {}) =>
    send(`${gateway.provider.url}/v1${format.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-own' },
      body: JSON.stringify({ ...sample.body, ...more }),
    });
  const usage = requestsUsage ? { stream_options: { include_usage: true } } : {};
  const streamed = (more: object = {}) => call({ stream: true, ...usage, ...more });
  const either = output === undefined ? [call] : [call, streamed];

  /** Starts the next call of a test. */
  function next(): void {
    gateway.world.clock.advanceSeconds(1);
    forget();
  }

  test('a call has the bytes of the provider, plain, streamed and with a tool of the client', async () => {
    const tools = sample.tool === undefined ? [] : [{ tools: [sample.tool] }];
    for (const send of either) {
      for (const more of [{}, ...tools]) {
        next();
        const bytes = await bytesOf(await send(more));
        expect(bytes.equals(gateway.provider.sent[0] as Buffer)).toBe(true);
        expectBilled(gateway.provider, await lastRuns(), model);
      }
    }
  });

  test('errors of the provider are passed on unchanged, and free', async () => {
    for (const name of Object.keys(providerErrors) as ProviderError[]) {
      const error = providerErrors[name];
      gateway.provider.fault = () => error;
      for (const send of either) {
        const before = (await gateway.runs()).length;
        const response = await send();
        expect([response.status, await response.text()]).toEqual([error.status, error.body]);
        await lastRuns();
        expect([name, (await gateway.runs()).length]).toEqual([name, before]);
      }
    }
  });

  test('a denied call is not sent, and answered in the format', async () => {
    await gateway.cap('0.000000001');
    for (const send of either) {
      const response = await send();
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([402, 'false']);
      expect(await response.json()).toMatchObject({
        error: { code: 'spend_cap_exceeded', message: expect.stringMatching(/resets at \d{4}-/) },
      });
    }
    expect(gateway.provider.requests).toEqual([]);
  });

  test('a response that breaks off is an error of the SDK, and posted as an upper bound', async () => {
    gateway.provider.fault = () => ({ cutAfter: 40 });
    await expect(call(maximum(20)).then((response) => response.text())).rejects.toThrow();
    await expectUpperBound();
  });

  if (output === undefined) {
    return;
  }

  test('a stream without its usage chunk, which only the client has requested', async () => {
    const received = (await bytesOf(await call({ stream: true }))).toString();
    const sent = (gateway.provider.sent[0] as Buffer).toString();
    expect(received).toBe(
      sent
        .split('\n\n')
        .filter((event) => !event.includes('"choices":[]'))
        .join('\n\n'),
    );
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('a stream that breaks off anywhere is an error of the SDK, and never posted below the bill', async () => {
    gateway.provider.outputOf = () => 2;
    await bytesOf(await streamed());
    const chunks = gateway.provider.bill[0]?.chunks.length ?? 0;
    expect(chunks).toBeGreaterThan(4);
    for (let count = 1; count < chunks; count += 1) {
      next();
      gateway.provider.fault = () => ({ cutAfter: count });
      await expect(streamed().then((response) => response.text())).rejects.toThrow();
      const [run] = await lastRuns();
      const [billed] = gateway.provider.bill;
      expect(run?.status).toBe('failed');
      expect(run?.input_tokens).toBeGreaterThanOrEqual(Number(billed?.inputTokens));
      expect(run?.output_tokens).toBeGreaterThanOrEqual(Number(billed?.outputTokens));
    }
  });

  test.each(sample.failures)(
    'a stream that the provider ends with %j has its bytes, and has failed',
    async (event) => {
      gateway.provider.fault = () => ({ endAfter: 4, with: `data: ${JSON.stringify(event)}\n\n` });
      const received = await (await streamed()).text();
      expect(received).toBe(Buffer.concat(gateway.provider.bill[0]?.chunks ?? []).toString());
      await expectUpperBound();
    },
  );

  const hiding = [
    { by: 'the request', more: sample.reasoning },
    { by: 'the model that the response names', reportedModel: hidingModel },
    // The usual model of the sample is an unknown name.
    ...(reasonsOnRequest ? [] : [{ by: 'no name that is known' }]),
  ];

  test.each(hiding)(
    'hidden reasoning is charged, plain, streamed and cut: $by',
    async ({ more, reportedModel }) => {
      gateway.provider.hiddenTokens = 3_000;
      gateway.provider.reportedModel = reportedModel;
      for (const send of either) {
        next();
        await bytesOf(await send({ ...more, ...maximum(5_000) }));
        expectBilled(gateway.provider, await lastRuns(), model);
      }
      for (const [send, cutAfter] of [
        [call, 40],
        [streamed, 3],
      ] as const) {
        next();
        gateway.provider.fault = () => ({ cutAfter });
        await expect(send({ ...more, ...maximum(5_000) }).then((one) => one.text())).rejects.toThrow();
        await expectUpperBound();
      }
    },
  );
});
