/** Parses the headers of a call that are for Purser: attribution and idempotency. They are validated here and never reach the provider. */
import type { IncomingHttpHeaders } from 'node:http';
import { type HeaderDimension, headerDimensions, runDimensions } from '../contract/run-dimensions.ts';
import { parseUsd } from '../kernel/money.ts';
import { tagsMax } from '../ledger/scope.ts';
import { isIdempotencyKey } from '../platform/http/pipeline/idempotency.ts';
import { GatewayError } from './errors/gateway-error.ts';

export const onLimitChoices = ['refuse', 'fit', 'fallback'] as const;
export type OnLimit = (typeof onLimitChoices)[number];

export interface CallAttribution extends Readonly<Partial<Record<HeaderDimension, string>>> {
  readonly parent_run_id?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface CallHeaders {
  readonly attribution: CallAttribution;
  readonly maxCostNanos: bigint | undefined;
  readonly onLimit: OnLimit | undefined;
  readonly idempotencyKey: string | undefined;
}

const labels = [
  ...headerDimensions.map((name) => [runDimensions[name].header, name] as const),
  ['x-svc-parent-run', 'parent_run_id'] as const,
];

/** Headers by which Claude Code and Codex name their session: the calls of a session are a chain. */
const sessionHeaders = ['x-claude-code-session-id', 'session_id', 'session-id', 'conversation_id'];

const labelMax = 200;
const tagNameMax = 64;

export function callHeadersOf(headers: IncomingHttpHeaders): CallHeaders {
  const attribution: Record<string, string | Record<string, string>> = {};
  for (const [header, field] of labels) {
    const value = headerValue(headers, header);
    if (value !== undefined) {
      attribution[field] = value;
    }
  }
  const session = attribution.chain_id === undefined ? sessionOf(headers) : undefined;
  if (session !== undefined) {
    attribution.chain_id = session;
  }
  const tags = tagsOf(headerValue(headers, 'x-svc-tags', Number.POSITIVE_INFINITY));
  if (tags !== undefined) {
    attribution.tags = tags;
  }
  return {
    attribution: attribution as CallAttribution,
    maxCostNanos: maxCostOf(headerValue(headers, 'x-svc-max-cost-usd')),
    onLimit: onLimitOf(headerValue(headers, 'x-svc-on-limit')),
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key']),
  };
}

/** Returns a header as trimmed text. Node reads header bytes as Latin-1, but labels are UTF-8. */
function headerValue(headers: IncomingHttpHeaders, name: string, max = labelMax): string | undefined {
  const given = headers[name];
  if (given === undefined) {
    return undefined;
  }
  const value = Buffer.from(String(given), 'latin1').toString('utf8').trim();
  if (value === '' || value.length > max) {
    throw invalidHeader(name, `must have 1 to ${max} characters`);
  }
  return value;
}

function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '' && value.length <= labelMax) {
      return value;
    }
  }
  return undefined;
}

function tagsOf(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) {
    return undefined;
  }
  const tags: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const separator = pair.indexOf('=');
    const name = pair.slice(0, separator).trim();
    const value = pair.slice(separator + 1).trim();
    if (separator < 1 || name === '' || name.length > tagNameMax || value.length > labelMax) {
      throw invalidHeader('x-svc-tags', 'must be a list such as `env=prod,app=chat`');
    }
    tags[name] = value;
  }
  if (Object.keys(tags).length > tagsMax) {
    throw invalidHeader('x-svc-tags', `must have at most ${tagsMax} tags`);
  }
  return tags;
}

function maxCostOf(text: string | undefined): bigint | undefined {
  if (text === undefined) {
    return undefined;
  }
  const nanos = /^\d+(\.\d{1,9})?$/.test(text) ? parseUsd(text) : undefined;
  if (nanos === undefined) {
    throw invalidHeader('x-svc-max-cost-usd', 'must be an amount such as `0.25`');
  }
  return nanos;
}

function onLimitOf(text: string | undefined): OnLimit | undefined {
  const choice = onLimitChoices.find((one) => one === text);
  if (text !== undefined && choice === undefined) {
    throw invalidHeader('x-svc-on-limit', `must be one of ${onLimitChoices.join(', ')}`);
  }
  return choice;
}

/** Returns the idempotency key. Node joins repeated headers of this name into one value. */
function idempotencyKeyOf(given: string | string[] | undefined): string | undefined {
  if (given === undefined) {
    return undefined;
  }
  const key = String(given);
  if (!isIdempotencyKey(key)) {
    throw invalidHeader('Idempotency-Key', 'must have 1 to 255 printable ASCII characters');
  }
  return key;
}

function invalidHeader(name: string, rule: string): GatewayError {
  return new GatewayError(400, 'invalid_header', `The header ${name} ${rule}.`, { header: name });
}
