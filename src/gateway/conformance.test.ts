/**
 * Conformance of every kind of connection in every format that it speaks, through the gateway: the calls of a client reach the provider
 * unchanged, its bytes reach the client, and the ledger has what the provider bills, or an upper bound of it.
 */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import {
  codeIn,
  errorIn,
  type FormatSample,
  formatSamples,
  maximumOf,
  mergedMembers,
  offering,
  streamedBody,
} from '../../test/support/format-samples.ts';
import {
  connectionTo,
  expectBilled,
  providerKey,
  serves,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import type { BilledCall } from '../../test/support/mock-provider.ts';
import { chargedErrors, type ProviderError, providerErrors } from '../../test/support/provider-errors.ts';
import { eventBytes, eventsIn, rawEventsIn } from '../../test/support/stream-events.ts';
import {
  connectionKinds,
  kindNames,
  kindOf,
  type ProviderKind,
} from '../capabilities/integration/connections/index.ts';
import type { CallFormat } from '../kernel/providers/call-format.ts';
import type { Fields } from '../kernel/providers/fields.ts';
import { allFormats, type FormatName } from '../kernel/providers/formats.ts';
import { operationOf, servedPaths } from './paths/index.ts';

const gateway = useGatewayWorld();
const usualSettings = () => ({ ...gateway.settings, hold: 'worst_case' }) as const;

/** A model that shows all its output, whatever its format, so that a hold can grow with it, and one whose name says that it does not. */
const shownModel = 'shown-test';
const hidingModel = 'o4-test';
/** Calls after which the gateway expects outputs like theirs. */
const learnedCalls = 20;

beforeAll(async () => {
  for (const [model, capabilities] of [
    [shownModel, ['tools']],
    [hidingModel, ['reasoning']],
  ]) {
    await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
      key: gateway.world.operatorKey,
      body: { provider: 'openai', input_usd_per_million: '1', output_usd_per_million: '10', capabilities },
    });
  }
  for (let call = 0; call < learnedCalls; call += 1) {
    const { path, body } = formatSamples.chat;
    expect((await post(path, { ...body, model: shownModel })).status).toBe(200);
  }
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.settings = usualSettings();
  const { provider } = gateway;
  provider.fault = undefined;
  provider.beforeChunk = undefined;
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

const post = (path: string, body: object | string) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

/** The newest run, once its call is settled. */
async function lastRuns() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).slice(0, 1);
}

/** The one call that the provider has billed. */
function billed(): BilledCall {
  const [call, ...more] = gateway.provider.bill;
  expect([call, more]).toEqual([expect.anything(), []]);
  return call as BilledCall;
}

const sentIn = ({ chunks }: BilledCall) => Buffer.concat(chunks);

/** Expects an estimated run with at least the tokens that the provider has billed. */
async function expectUpperBound(status: string): Promise<void> {
  const { inputTokens, outputTokens } = billed();
  const [run] = await lastRuns();
  expect([run?.status, run?.marks]).toEqual([status, expect.arrayContaining(['usage_estimated'])]);
  expect(run?.input_tokens).toBeGreaterThanOrEqual(inputTokens);
  expect(run?.output_tokens).toBeGreaterThanOrEqual(outputTokens);
}

function readerOf({ response }: CallFormat, bytes: Buffer) {
  const reader = response.readStream((part) => part.length, 1);
  for (const event of eventsIn(response.framing, bytes)) {
    reader.read(event);
  }
  return reader;
}

/** True if the provider has ended its output, so that only usage and the end of the stream may be missing. */
function isOutputEnded({ response }: CallFormat, bytes: Buffer): boolean {
  const open = response.openStream({ choices: 1, includesUsage: true, mayTruncate: false });
  for (const event of eventsIn(response.framing, bytes)) {
    open.read(event);
  }
  return open.isOutputEnded;
}

/** The parts of our paths between their prefix and the path of the format. A prefix with another layout fails the test of the prefixes. */
const vertexLayout = '/v1/projects/any/locations/any/publishers/google';
const layouts = ['', '/v1', '/v1beta', '/openai/v1', vertexLayout, '/deployments/{model}'].flatMap(
  (layout) => [layout, `/{connection}${layout}`, `/{connection}/openai${layout}`],
);

/** Returns the method after the model of a path; empty if the format has none. */
function methodOf({ request }: CallFormat, path: string): string {
  const [method = ''] = request.isModelInPath ? (/(?::\w+|\/[\w-]+)$/.exec(path) ?? []) : [];
  return method;
}

/** Returns all of our paths below which a connection of this kind is called in this format. */
function pathsTo(
  kind: keyof typeof connectionKinds,
  format: CallFormat,
  { model, path }: FormatSample,
): string[] {
  const method = methodOf(format, path);
  const connection = connectionTo('http://127.0.0.1', kind);
  return servedPaths
    .flatMap(({ prefix }) => layouts.map((layout) => `${prefix}${layout}${format.path}${method}`))
    .map((path) => path.replace('{connection}', connection.name).replace('{model}', model))
    .filter((path) => {
      const operation = operationOf('POST', path);
      return (
        operation?.kind === 'metered' && operation.format === format && serves(connection, operation.wanted)
      );
    });
}

const cases = kindNames.flatMap((kind) =>
  [...kindOf({ kind }).paths].map(([format, path]) => {
    const sample = formatSamples[format.name as FormatName];
    const ourPaths = pathsTo(kind, format, sample);
    // The version before it is that of our path.
    const ofModel = path.replace('/{version}', '').replace('{model}', sample.model);
    const ofAccount = ofModel.replace('{account}', kindOf({ kind }).account?.example ?? '');
    const providerPath = `${ofAccount}${methodOf(format, sample.path)}`;
    return { kind, format, path: providerPath, sample, name: format.name, ourPaths };
  }),
);

test('all kinds have the same members in the same order', () => {
  const [first, ...others] = Object.values(connectionKinds).map((kind) => Object.keys(kind));
  for (const members of others) {
    expect(members).toEqual(first);
  }
});

test('each kind speaks a format, each format is spoken by a kind, and each of our prefixes leads to one', () => {
  expect(new Set(cases.map(({ kind }) => kind))).toEqual(new Set(kindNames));
  expect(new Set(cases.map(({ format }) => format))).toEqual(new Set(allFormats));
  const prefixes = cases.flatMap(({ ourPaths }) => ourPaths.map((path) => `/${path.split('/')[1]}`));
  expect(new Set(prefixes)).toEqual(new Set(servedPaths.map(({ prefix }) => prefix)));
  expect(cases.filter(({ ourPaths, sample }) => !ourPaths.includes(sample.path))).toEqual([]);
});

test.each(servedPaths)('calls below $prefix count in request rates of the class edge', async ({ prefix }) => {
  const [call] = cases.flatMap(({ kind, sample, ourPaths }) =>
    ourPaths.filter((path) => path.startsWith(`${prefix}/`)).map((path) => ({ kind, path, sample })),
  );
  const { kind, path, sample } = call as Pick<(typeof cases)[number], 'kind' | 'path' | 'sample'>;
  gateway.connections = [connectionTo(gateway.provider.url, kind)];
  const limitRate = (policies: readonly object[]) =>
    gateway.world.request('PUT', `/v1/admin/orgs/${gateway.org.id}/rate-limits`, {
      key: gateway.world.operatorKey,
      body: { policies },
    });
  const match = { route_class: 'edge' };
  const policy = { name: 'calls', unit: 'requests', limit: 1, window_seconds: 60, kind: 'rate', match };
  expect((await limitRate([policy])).status).toBe(200);
  expect([(await post(path, sample.body)).status, (await post(path, sample.body)).status]).toEqual([
    200, 429,
  ]);
  await limitRate([]);
});

describe.each(cases)('$kind, $name', ({ kind, format, path, sample, ourPaths }) => {
  const { body, tool } = sample;
  const { model, streamPath = sample.path } = sample;
  const { output, requestsUsage } = format.request;
  const { keyHeaders, namesModels, imitated }: ProviderKind = kindOf({ kind });
  const keyHeader = imitated.has(format) ? 'authorization' : keyHeaders[0];
  const errors = Object.keys(providerErrors) as ProviderError[];

  beforeEach(() => {
    gateway.connections = [connectionTo(gateway.provider.url, kind)];
  });

  const call = (more: Fields = {}) => post(sample.path, mergedMembers(body, more));
  const streamed = (more: Fields = {}, path = streamPath) =>
    post(path, mergedMembers(streamedBody(sample, requestsUsage), more));
  /** A streamed call of the model that shows its output. */
  const shown = (more: Fields) =>
    format.request.isModelInPath
      ? streamed(more, streamPath.replace(model, shownModel))
      : streamed({ ...more, model: shownModel });
  /** Calls in each of the ways in which the format answers. */
  const either = output === undefined ? [call] : [call, streamed];
  const maximum = (tokens: number) => maximumOf(format, tokens);

  test.each(ourPaths)('a plain call to %s has the path and the credentials of the kind', async (ourPath) => {
    const text = JSON.stringify({ ...maximum(20), ...body }, undefined, 1).replace('ö', '\\u00f6');
    const response = await post(ourPath, text);
    expect(response.status).toBe(200);
    expect((await bytesOf(response)).equals(gateway.provider.sent[0] as Buffer)).toBe(true);
    const [request, ...more] = gateway.provider.requests;
    expect(more).toEqual([]);
    expect(request?.text).toBe(text);
    expect(request?.url.endsWith(path)).toBe(true);
    const headers = Object.entries(request?.headers ?? {});
    const withKey = headers.filter(([, value]) => String(value).includes(providerKey));
    expect(withKey.map(([header]) => header)).toEqual([keyHeader]);
    expect(headers.filter(([, value]) => String(value).includes(gateway.key))).toEqual([]);
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('errors of the provider are passed on unchanged, and charged if they may be', async () => {
    const send = output === undefined ? call : streamed;
    for (const name of errors) {
      const error = providerErrors[name];
      gateway.world.clock.advanceSeconds(1);
      forget();
      gateway.provider.fault = () => error;
      const response = await send(maximum(20));
      expect([response.status, await response.text()]).toEqual([error.status, error.body]);
      expect([name, gateway.provider.requests.length]).toEqual([name, 1]);
      const isCharged = chargedErrors[kind].includes(name);
      const [run] = await lastRuns();
      expect([name, run?.status, run?.marks]).toEqual([name, 'failed', isCharged ? ['usage_estimated'] : []]);
      expect(run?.output_tokens).toBe(isCharged && output !== undefined ? 20 : 0);
      expect([name, Number(run?.input_tokens) > 0, run?.cost_usd !== '0']).toEqual([
        name,
        isCharged,
        isCharged,
      ]);
    }
  });

  test('a rejected key of the connection is an error of the gateway without the text of the provider', async () => {
    gateway.provider.fault = () => ({ status: 401, body: '{"error":{"message":"Wrong: sk-pr...nary"}}' });
    const response = await call();
    const text = await response.text();
    expect([response.status, text.includes('nary')]).toEqual([502, false]);
    expect(codeIn(errorIn(JSON.parse(text)))).toBe('provider_key_rejected');
    expect(await lastRuns()).toMatchObject([{ status: 'failed', cost_usd: '0', marks: [] }]);
  });

  test('a denied call is not sent, and answered in the format', async () => {
    await gateway.cap('0.000000001');
    for (const send of either) {
      const response = await send();
      const error = errorIn(await response.json());
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([402, 'false']);
      expect(codeIn(error)).toBe('spend_cap_exceeded');
      expect(error).toMatchObject({ message: expect.stringMatching(/resets at \d{4}-/) });
    }
    expect(gateway.provider.requests).toEqual([]);
  });

  test('a response that breaks off is an error of the gateway, and posted as an upper bound', async () => {
    gateway.provider.fault = () => ({ cutAfter: 40 });
    const response = await call();
    expect(response.status).toBe(502);
    const error = errorIn(await response.json());
    expect(codeIn(error)).toBe('response_interrupted');
    await expectUpperBound('failed');
  });

  if (output === undefined) {
    return;
  }

  test.runIf(tool !== undefined)(
    'a call of a tool of the client has the bytes of the provider, plain and streamed',
    async () => {
      for (const send of either) {
        gateway.world.clock.advanceSeconds(1);
        forget();
        const bytes = await bytesOf(await send(offering(sample)));
        expect(bytes.equals(gateway.provider.sent[0] as Buffer)).toBe(true);
        expect(bytes.toString()).toContain('lookup');
        expectBilled(gateway.provider, await lastRuns(), model);
      }
    },
  );

  test('a stream has the bytes of the provider, without the usage that only the gateway requested', async () => {
    const received = (await bytesOf(await streamed({ stream_options: undefined }))).toString('latin1');
    const sent = (gateway.provider.sent[0] as Buffer).toString('latin1');
    const events = sent.split('\n\n').filter((event) => !event.includes('"choices":[]'));
    expect(received).toBe(events.join('\n\n'));
    expect(received === sent).toBe(!requestsUsage);
    expectBilled(gateway.provider, await lastRuns(), model);
  });

  test('a stream that breaks off anywhere is completed if its output has ended, and ends with an error otherwise', async () => {
    gateway.provider.outputOf = () => 2;
    await bytesOf(await streamed());
    const { chunks } = billed();
    expect(chunks.length).toBeGreaterThan(3);
    for (let count = 1; count < chunks.length; count += 1) {
      gateway.world.clock.advanceSeconds(1);
      forget();
      gateway.provider.fault = () => ({ cutAfter: count });
      const received = await bytesOf(await streamed());
      const call = billed();
      const { inputTokens, outputTokens } = call;
      expect(received.subarray(0, sentIn(call).length)).toEqual(sentIn(call));
      const { hasFailed } = readerOf(format, received);
      expect([count, !hasFailed]).toEqual([count, isOutputEnded(format, sentIn(call))]);
      expect(received.includes('broke off')).toBe(hasFailed);
      const [run] = await lastRuns();
      expect(run?.status).toBe('failed');
      expect(run?.input_tokens).toBeGreaterThanOrEqual(inputTokens);
      expect(run?.output_tokens).toBeGreaterThanOrEqual(outputTokens);
    }
  });

  test.each(sample.failures)(
    'a stream that the provider ends with %j has its bytes, and has failed',
    async (event) => {
      const last = eventBytes(format.response.framing, event);
      gateway.provider.fault = () => ({ endAfter: 4, with: last });
      const received = await bytesOf(await streamed());
      expect(received).toEqual(sentIn(billed()));
      await expectUpperBound('failed');
    },
  );

  /** The ways to learn that the model does not show its reasoning. */
  const hiding = [
    { by: 'the request', more: sample.reasoning },
    { by: 'the model that the response names', reportedModel: hidingModel },
    // The usual model of the sample is an unknown name.
    ...(namesModels || format.request.reasonsOnRequest ? [] : [{ by: 'no name that is known' }]),
  ];

  test.each(hiding)(
    'hidden reasoning is charged, plain, streamed and cut: $by',
    async ({ more, reportedModel }) => {
      gateway.provider.hiddenTokens = 3_000;
      gateway.provider.reportedModel = reportedModel;
      const asked = mergedMembers(more ?? {}, maximum(5_000));
      for (const send of either) {
        gateway.world.clock.advanceSeconds(1);
        forget();
        const bytes = await bytesOf(await send(asked));
        expect(bytes.equals(gateway.provider.sent[0] as Buffer)).toBe(true);
        expect(billed().outputTokens).toBe(3_005);
        expectBilled(gateway.provider, await lastRuns(), model);
      }
      for (const [send, cutAfter] of [
        [call, 40],
        [streamed, 3],
      ] as const) {
        gateway.world.clock.advanceSeconds(1);
        forget();
        gateway.provider.fault = () => ({ cutAfter });
        await (await send(asked)).text();
        expect(billed().outputTokens).toBeGreaterThanOrEqual(3_000);
        await expectUpperBound('failed');
      }
    },
  );

  test('a stream whose hold cannot grow ends as if its maximum were reached', async () => {
    gateway.settings = { ...gateway.settings, hold: 'expected' };
    gateway.provider.outputOf = () => 2_000;
    // Sent as it is generated, because all that a provider has sent is charged.
    gateway.provider.beforeChunk = () => setTimeout(1);
    await gateway.capAbove(0.01);
    const received = await bytesOf(await shown(maximum(20_000)));
    const rawEvents = (bytes: Buffer) => rawEventsIn(format.response.framing, bytes);
    const sent = rawEvents(sentIn(billed()));
    const passed = rawEvents(received).findIndex((event, index) => sent[index]?.equals(event) !== true);
    expect(passed).toBeGreaterThan(10);
    expect(passed).toBeLessThan(2_000);
    const reader = readerOf(format, received);
    expect([reader.isFinal, reader.hasFailed]).toEqual([true, false]);
    await expectUpperBound('succeeded');
    const [run] = await lastRuns();
    expect(run?.marks).toContain('truncated');
    expect(run?.output_tokens).toBe(reader.usage()?.outputTokens);
  });
});
