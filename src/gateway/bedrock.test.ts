/** Amazon Bedrock: calls in the format of Anthropic from clients of either API, ids of models, event streams, signed requests. */
import { beforeEach, expect, test } from 'vitest';
import { awsException, readFrames } from '../../test/support/aws-frames.ts';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, providerKey, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const messages = [{ role: 'user', content: 'Say hello.' }];
const direct = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages };
const invoke = `/bedrock/model/${encodeURIComponent(model)}/invoke`;
const invokeStream = `${invoke}-with-response-stream`;

beforeEach(async () => {
  const { provider } = gateway;
  gateway.world.clock.advanceSeconds(1);
  gateway.connections = [connectionTo(provider.url, 'bedrock', { baseUrl: provider.url })];
  gateway.settings = { ...gateway.settings, hold: 'worst_case', plainCalls: 'as_sent' };
  provider.fault = undefined;
  provider.outputOf = () => 5;
  provider.reportedModel = undefined;
  for (const list of [provider.requests, provider.bill, provider.sent]) {
    list.length = 0;
  }
  await gateway.cap('1000');
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const sent = () => {
  const [request] = gateway.provider.requests;
  return { ...request, body: JSON.parse(request?.text ?? '') };
};

async function lastRun() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs())[0];
}

/** Cost in dollars of the profile of the United States: $3.3 and $16.5 per million tokens. */
const costOf = (input: number, output: number) => ((input * 33 + output * 165) / 1e7).toString();

test('a call of a client of Anthropic has the path and the body of Bedrock', async () => {
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'context-1m-2025-08-07' };
  const response = await post('/anthropic/v1/messages', { model, max_tokens: 50, messages }, headers);
  expect(response.status).toBe(200);
  expect((await bytesOf(response)).equals(gateway.provider.sent[0] as Buffer)).toBe(true);
  const { url, body, headers: received = {} } = sent();
  expect(url).toBe(`/model/${encodeURIComponent(model)}/invoke`);
  expect(body).toEqual({ ...direct, anthropic_beta: ['context-1m-2025-08-07'] });
  expect([received['anthropic-version'], received['anthropic-beta']]).toEqual([undefined, undefined]);
  expect(received.authorization).toBe(`Bearer ${providerKey}`);
  const [billed] = gateway.provider.bill;
  const run = await lastRun();
  expect(run).toMatchObject({ model, status: 'succeeded', marks: [], output_tokens: 5 });
  expect(Number(run?.cost_usd)).toBeCloseTo(Number(costOf(billed?.inputTokens ?? 0, 5)), 12);
});

test('a stream of Bedrock reaches a client of Anthropic as server-sent events', async () => {
  const response = await post('/anthropic/v1/messages', { model, max_tokens: 50, messages, stream: true });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const text = await response.text();
  const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
  expect(types[0]).toBe('message_start');
  expect(types.at(-1)).toBe('message_stop');
  expect(text).toContain(
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"tok0 "}}',
  );
  expect(sent().url).toBe(`/model/${encodeURIComponent(model)}/invoke-with-response-stream`);
  expect(sent().body).not.toHaveProperty('stream');
  expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5, marks: [] });
});

test('a client in the mode of Bedrock gets the bytes of Bedrock, plain and streamed', async () => {
  for (const path of [invoke, invokeStream]) {
    gateway.world.clock.advanceSeconds(1);
    gateway.provider.sent.length = 0;
    const response = await post(path, direct);
    expect((await bytesOf(response)).equals(gateway.provider.sent[0] as Buffer)).toBe(true);
    expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5, marks: [] });
  }
});

test('a client in the mode of Bedrock is served by a connection to Anthropic', async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'anthropic')];
  const response = await post(invokeStream, { ...direct, anthropic_beta: ['a', 'b'] });
  expect(response.headers.get('content-type')).toBe('application/vnd.amazon.eventstream');
  const frames = readFrames(await bytesOf(response));
  const events = frames.map(({ type, payload }) => {
    expect(type).toBe('chunk');
    return JSON.parse(Buffer.from(String(payload.bytes), 'base64').toString());
  });
  expect(events.map(({ type }) => type)).toEqual([
    'message_start',
    'content_block_start',
    ...Array.from({ length: 5 }, () => 'content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  const { url, body, headers = {} } = sent();
  expect(url).toBe('/v1/messages');
  expect(body).toEqual({ model: 'claude-sonnet-4-5-20250929', max_tokens: 50, messages, stream: true });
  expect([headers['anthropic-version'], headers['anthropic-beta']]).toEqual(['2023-06-01', 'a,b']);
});

test('a signed request is that of the key with which it is signed', async () => {
  const authorization = `AWS4-HMAC-SHA256 Credential=${gateway.key}/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00`;
  const headers = { authorization, 'x-amz-date': '20260101T000000Z', 'x-amz-security-token': 'token' };
  expect((await post(invoke, direct, headers)).status).toBe(200);
  expect(Object.keys(sent().headers ?? {}).filter((name) => name.startsWith('x-amz-'))).toEqual([]);
  const elsewhere = await post('/anthropic/v1/messages', { model, max_tokens: 5, messages }, headers);
  expect(elsewhere.status).toBe(401);
});

test('a call by the name of a model has the id of the geography of the connection, and its price', async () => {
  const at = (region: string) => ({ provider: 'aws', region });
  for (const [region, id] of [
    ['us-west-2', model],
    ['eu-west-1', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['ap-northeast-1', 'jp.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['me-central-1', 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ] as const) {
    gateway.world.clock.advanceSeconds(1);
    gateway.provider.requests.length = 0;
    gateway.provider.bill.length = 0;
    gateway.provider.reportedModel = 'claude-sonnet-4-5-20250929';
    const { url } = gateway.provider;
    gateway.connections = [connectionTo(url, 'bedrock', { baseUrl: url, calledAt: at(region) })];
    await post('/anthropic/v1/messages', { model: 'claude-sonnet-4-5', max_tokens: 50, messages });
    expect(decodeURIComponent(sent().url ?? '')).toBe(`/model/${id}/invoke`);
    const run = await lastRun();
    const [billed] = gateway.provider.bill;
    const factor = region === 'me-central-1' ? 1 : 1.1;
    const usd = ((billed?.inputTokens ?? 0) * 3 + 5 * 15) * factor;
    expect([region, Number(run?.cost_usd) * 1e6]).toEqual([region, expect.closeTo(usd, 6)]);
    expect(run?.marks).toEqual([]);
  }
});

test('a call by the name of a model has the id that the connection lists', async () => {
  const listed = 'global.anthropic.claude-sonnet-4-5-20250929-v1:0';
  const { url } = gateway.provider;
  gateway.connections = [connectionTo(url, 'bedrock', { baseUrl: url, modelNames: new Set([listed]) })];
  await post('/anthropic/v1/messages', { model: 'claude-sonnet-4-5', max_tokens: 50, messages });
  expect(decodeURIComponent(sent().url ?? '')).toBe(`/model/${listed}/invoke`);
});

test('a profile of the account has the price of its stated model, and is refused without one', async () => {
  const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3';
  const path = `/bedrock/model/${encodeURIComponent(arn)}/invoke`;
  const refused = await post(path, direct);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('model_without_price');
  const { url } = gateway.provider;
  const deploymentModels = { [arn]: model };
  gateway.connections = [connectionTo(url, 'bedrock', { baseUrl: url, deploymentModels })];
  expect((await post(path, direct)).status).toBe(200);
  expect(await lastRun()).toMatchObject({
    model: arn,
    cost_usd: costOf(gateway.provider.bill[0]?.inputTokens ?? 0, 5),
  });
});

test('tokens are counted by the operation of Bedrock', async () => {
  const response = await post('/anthropic/v1/messages/count_tokens', { model, messages });
  const { url, body } = sent();
  expect(url).toBe('/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens');
  const invoked = JSON.parse(Buffer.from(body.input.invokeModel.body, 'base64').toString());
  expect(invoked).toEqual({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 1, messages });
  expect(await response.json()).toEqual({ input_tokens: expect.any(Number) });
});

test.each(['/anthropic/v1/messages', invokeStream])(
  'an exception in a stream is an error for the client, and the call has failed: %s',
  async (path) => {
    const last = awsException('throttlingException', 'Too many tokens.');
    gateway.provider.fault = () => ({ endAfter: 4, with: last });
    const response = await post(
      path,
      path === invokeStream ? direct : { model, max_tokens: 50, messages, stream: true },
    );
    const bytes = await bytesOf(response);
    if (path === invokeStream) {
      expect(readFrames(bytes).at(-1)).toEqual({
        type: 'throttlingException',
        isException: true,
        payload: { message: 'Too many tokens.' },
      });
    } else {
      expect(bytes.toString()).toContain('"error":{"type":"rate_limit_error","message":"Too many tokens."}');
    }
    const run = await lastRun();
    expect([run?.status, run?.marks]).toEqual(['failed', expect.arrayContaining(['usage_estimated'])]);
  },
);

test('a stream that breaks off ends with an exception in whole frames', async () => {
  gateway.provider.fault = () => ({ cutAfter: 4 });
  const frames = readFrames(await bytesOf(await post(invokeStream, direct)));
  expect(frames.at(-1)).toMatchObject({ type: 'internalServerException', isException: true });
  expect(await lastRun()).toMatchObject({
    status: 'failed',
    marks: expect.arrayContaining(['usage_estimated']),
  });
});

test('a plain call that follows its time is a stream at Bedrock, put together for the client', async () => {
  gateway.settings = { ...gateway.settings, hold: 'paced', plainCalls: 'streamed' };
  const response = await post(invoke, direct);
  expect(sent().url).toContain('/invoke-with-response-stream');
  expect(await response.json()).toMatchObject({ type: 'message', content: [{ type: 'text' }] });
  expect(await lastRun()).toMatchObject({ status: 'succeeded', output_tokens: 5, marks: [] });
});

test('a connection with a credential of AWS signs its requests for its region', async () => {
  const { url } = gateway.provider;
  const credential = () =>
    ({
      type: 'aws',
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI-canary',
      sessionToken: 'session-token-canary',
    }) as const;
  gateway.connections = [connectionTo(url, 'bedrock', { baseUrl: url, region: 'eu-west-1', credential })];
  expect((await post(invoke, direct)).status).toBe(200);
  const { headers = {} } = sent();
  expect(headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
  );
  expect(headers['x-amz-security-token']).toBe('session-token-canary');
  expect(JSON.stringify(headers)).not.toContain('wJalrXUtnFEMI-canary');
});
