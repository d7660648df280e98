/** Conformance of every wire format in the registry, by recorded answers of providers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { codeIn, errorIn, formatSamples, streamedBody } from '../../../test/support/format-samples.ts';
import { type MockProvider, startMockProvider } from '../../../test/support/mock-provider.ts';
import { eventsIn } from '../../../test/support/stream-events.ts';
import type { CallFormat } from './call-format.ts';
import { noUsage } from './call-usage.ts';
import type { Fields } from './fields.ts';
import { allFormats, callFormats, type FormatName } from './formats.ts';
import { offeredTools } from './offered-tools.ts';
import type { ShownError } from './shown-error.ts';
import type { OutputBound } from './stream-usage.ts';

let provider: MockProvider;

beforeAll(async () => {
  provider = await startMockProvider();
});
afterAll(() => provider.close());
beforeEach(() => {
  provider.bill.length = 0;
  provider.reportedModel = undefined;
});

const bytesOf: OutputBound = (text) => Buffer.byteLength(text);

/** The events that a format writes itself are server-sent, whatever the framing of its streams is. */
const writtenIn = (text: string) => eventsIn('sse', Buffer.from(text));

/** Returns the answer of the provider, and what it bills. */
async function answerTo({ path, name }: CallFormat, body: object, isStream = false) {
  const { providerPaths } = formatSamples[name as FormatName];
  const ofFormat = isStream ? providerPaths?.streamed : providerPaths?.plain;
  const response = await fetch(`${provider.url}${ofFormat ?? `/v1${path}`}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const [billed] = provider.bill;
  const { inputTokens = 0, outputTokens = 0 } = billed ?? {};
  return { bytes, billed: { inputTokens, outputTokens } };
}

function readerOf({ response }: CallFormat, events: readonly Fields[]) {
  const reader = response.readStream(bytesOf, 1);
  for (const event of events) {
    reader.read(event);
  }
  return reader;
}

test('all formats have the same members in the same order', () => {
  const [first, ...others] = allFormats.map((format) =>
    [format, format.request, format.tools, format.response, format.errors].map(Object.keys),
  );
  for (const members of others) {
    expect(members).toEqual(first);
  }
  expect(allFormats.map(({ name }) => name)).toEqual(Object.keys(callFormats));
});

describe.each(Object.entries(callFormats) as [FormatName, CallFormat][])('%s', (name, format) => {
  const sample = formatSamples[name];
  const { errors, response, tools } = format;

  test('the usage of a whole response is what the provider bills', async () => {
    const { bytes, billed } = await answerTo(format, sample.body);
    const answer = JSON.parse(bytes.toString());
    expect(response.usageOf(answer)).toMatchObject(billed);
    const others = allFormats.filter((one) => one !== format && one.request.output !== undefined);
    expect(response.isResponse(answer) && others.some((other) => other.response.isResponse(answer))).toBe(
      false,
    );
  });

  test('a report that is not a usage report is no usage', () => {
    for (const answer of [undefined, null, 'x', {}, { usage: null }, { usage: {} }]) {
      expect(response.usageOf(answer)).toBeUndefined();
    }
  });

  test('distinguishes tools of the client from those that the provider runs', () => {
    expect(tools.areOffered).toBe(sample.tool !== undefined);
    expect(offeredTools(format, { tools: [sample.tool] })).toEqual([]);
    const unknown = offeredTools(format, { tools: [{ type: 'teleport_20260101' }] });
    expect(unknown.map(({ unit }) => unit)).toEqual(tools.areOffered ? ['teleport'] : []);
  });

  const shown: ShownError = {
    status: 402,
    code: 'spend_cap_exceeded',
    message: 'The cap is reached.',
    details: { cap_usd: '5', period_end: '2026-12-01T00:00:00Z' },
    explanation: 'It is low.',
  };

  test('an error has its message, code and details where SDKs look for them', () => {
    const error = errorIn(errors.bodyOf(shown, 'trace'));
    expect(error).toMatchObject({
      message: 'The cap is reached. It resets at 2026-12-01T00:00:00Z. It is low.',
    });
    expect(codeIn(error)).toBe(shown.code);
    expect(JSON.stringify(error)).toContain(JSON.stringify(shown.details));
  });

  test('a denial has its own status, except for clients that are known to need another one', () => {
    const headers = { 'user-agent': 'OpenAI/JS 6.0.0' };
    expect(errors.limitReplyOf(headers, shown)).toBeUndefined();
    expect(errors.limitHeadersOf(headers, { percent: 90, window: null })).toEqual({});
  });

  if (format.request.output === undefined) {
    return;
  }

  const streamed = async () => {
    const body = streamedBody(sample, format.request.requestsUsage);
    const { bytes, billed } = await answerTo(format, body, true);
    return { events: eventsIn(response.framing, bytes), billed };
  };

  test('the usage of a stream is what the provider bills, and final at its end alone', async () => {
    const { events, billed } = await streamed();
    const whole = readerOf(format, events);
    expect([whole.isFinal, whole.hasFailed, whole.isReasoningHidden]).toEqual([true, false, false]);
    expect(whole.usage()).toMatchObject(billed);
    const named = sample.isAnonymous === true ? [undefined, undefined] : [expect.any(String), sample.model];
    expect([whole.responseId, whole.servedModel]).toEqual(named);
    let bound = 0;
    for (let count = 0; count < events.length; count += 1) {
      const cut = readerOf(format, events.slice(0, count));
      expect(cut.isFinal ? cut.usage()?.outputTokens : billed.outputTokens).toBe(billed.outputTokens);
      expect(cut.outputBound).toBeGreaterThanOrEqual(bound);
      bound = cut.outputBound;
    }
    expect(readerOf(format, events.slice(0, Math.ceil(events.length / 2))).isFinal).toBe(false);
    expect(bound).toBeGreaterThanOrEqual(billed.outputTokens);
  });

  test.skipIf(sample.isAnonymous)('a stream that names a model with hidden reasoning says so', async () => {
    provider.reportedModel = 'openai/gpt-5-mini-2025-08-07';
    const { events } = await streamed();
    expect(readerOf(format, events).isReasoningHidden).toBe(true);
  });

  test.each(sample.failures)('a stream that ends with %j has failed', (event) => {
    expect(readerOf(format, [{}]).hasFailed).toBe(false);
    expect(readerOf(format, [{}, event]).hasFailed).toBe(true);
  });

  test('a stream that is ended early, anywhere, is complete for its reader, or has failed', async () => {
    const { events } = await streamed();
    for (let count = 1; count <= events.length; count += 1) {
      const passed = events.slice(0, count);
      const open = response.openStream({ choices: 1, includesUsage: true, mayTruncate: true });
      for (const event of passed) {
        open.read(event);
      }
      const ended = (added: string) => readerOf(format, [...passed, ...writtenIn(added)]);
      if (open.isOutputEnded) {
        expect(ended(open.rest()).hasFailed).toBe(false);
      } else {
        const { isFinal, hasFailed } = ended(open.truncated({ ...noUsage, inputTokens: 7, outputTokens: 3 }));
        expect([count, isFinal, hasFailed]).toEqual([count, true, false]);
        expect(ended(open.failed('It broke off.', 'stream_interrupted')).hasFailed).toBe(true);
      }
    }
  });
});
