/** Conformance of every kind of connection in every format that it speaks: the calls of a client reach the provider, and its bytes the client. */
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { formatSamples } from '../../test/support/format-samples.ts';
import {
  connectionTo,
  expectBilled,
  providerKey,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import {
  connectionKinds,
  kindNames,
  kindOf,
  type ProviderKind,
} from '../capabilities/integration/connections/index.ts';
import type { FormatName } from '../kernel/providers/formats.ts';
import { eventOf } from '../kernel/providers/sse-reader.ts';
import { dataOf } from '../kernel/providers/stream-usage.ts';
import { operationOf } from './paths/index.ts';

const gateway = useGatewayWorld();

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.fault = undefined;
  gateway.provider.outputOf = () => 5;
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  gateway.provider.sent.length = 0;
  await gateway.cap('1000');
});

test('all kinds have the same members in the same order', () => {
  const [first, ...others] = Object.values(connectionKinds).map((kind) => Object.keys(kind));
  for (const members of others) {
    expect(members).toEqual(first);
  }
});

const cases = kindNames.flatMap((kind) =>
  [...kindOf({ kind }).paths].map(([format, path]) => ({ kind, format, path, name: format.name })),
);

describe.each(cases)('$kind, $name', ({ kind, format, path, name }) => {
  const { path: ownPath, body, tool } = formatSamples[name as FormatName];
  const model = String(body.model);

  beforeEach(() => {
    gateway.connections = [connectionTo(gateway.provider.url, kind)];
  });

  const call = (more: object = {}) =>
    fetch(`${gateway.url}${ownPath}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...more }),
    });

  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
  const lastRuns = async () => {
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    return (await gateway.runs()).slice(0, 1);
  };

  test('our path is that of the format', () => {
    expect(operationOf('POST', ownPath)).toMatchObject({ kind: 'metered', format: { name } });
  });

  test('a plain call has the path and the credentials of the kind, and the bytes of the provider', async () => {
    const response = await call();
    expect(response.status).toBe(200);
    expect((await bytesOf(response)).equals(gateway.provider.sent[0] as Buffer)).toBe(true);
    const [request, ...more] = gateway.provider.requests;
    expect(more).toEqual([]);
    expect(request?.url.endsWith(path)).toBe(true);
    const headers = Object.entries(request?.headers ?? {});
    const withKey = headers.filter(([, value]) => String(value).includes(providerKey));
    const { keyHeaders }: ProviderKind = kindOf({ kind });
    expect(withKey.map(([header]) => header)).toEqual(keyHeaders);
    expect(headers.filter(([, value]) => String(value).includes(gateway.key))).toEqual([]);
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('an error of the provider is passed on unchanged, and a rejected call is free', async () => {
    const error = '{"error" : {"message":"No such thing.","type":"invalid_request_error"}}\n';
    gateway.provider.fault = () => ({ status: 400, body: error });
    const response = await call();
    expect([response.status, await response.text()]).toEqual([400, error]);
    expect(await lastRuns()).toMatchObject([{ status: 'failed', cost_usd: '0', marks: [] }]);
  });

  test('a denied call is not sent, and answered in the format', async () => {
    await gateway.cap('0.000000001');
    const response = await call();
    const { error } = (await response.json()) as { error: object };
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([402, 'false']);
    expect(error).toMatchObject({
      code: 'spend_cap_exceeded',
      message: expect.stringMatching(/resets at \d{4}-/),
    });
    expect(gateway.provider.requests).toEqual([]);
  });

  if (tool === undefined) {
    return;
  }

  test('a call of a tool of the client has the bytes of the provider', async () => {
    const response = await call({ tools: [tool] });
    const bytes = await bytesOf(response);
    expect(bytes.equals(gateway.provider.sent[0] as Buffer)).toBe(true);
    expect(bytes.toString()).toContain('lookup');
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('a stream has the bytes of the provider, without the usage that only the gateway requested', async () => {
    const received = (await bytesOf(await call({ stream: true }))).toString();
    const sent = (gateway.provider.sent[0] as Buffer).toString();
    const events = sent.split('\n\n').filter((event) => !event.includes('"choices":[]'));
    expect(received).toBe(events.join('\n\n'));
    expect(received === sent).toBe(!format.request.requestsUsage);
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('a stream that breaks off ends with an error, and is posted as an upper bound', async () => {
    gateway.provider.outputOf = () => 50;
    gateway.provider.fault = () => ({ cutAfter: 20 });
    const text = await (await call({ stream: true })).text();
    const reader = format.response.readStream((part) => part.length, 1);
    for (const event of text.split('\n\n').slice(0, -1)) {
      reader.read(dataOf(eventOf(Buffer.alloc(0), event)));
    }
    expect([reader.hasFailed, text.includes('broke off')]).toEqual([true, true]);
    const [run] = await lastRuns();
    const [billed] = gateway.provider.bill;
    expect(run).toMatchObject({ status: 'failed', marks: ['usage_estimated'] });
    expect(run?.output_tokens).toBeGreaterThanOrEqual(billed?.outputTokens ?? Number.POSITIVE_INFINITY);
    expect(run?.input_tokens).toBeGreaterThanOrEqual(billed?.inputTokens ?? Number.POSITIVE_INFINITY);
  });
});
