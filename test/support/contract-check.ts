/** Holds any answer against the contract: the envelope, the catalog, the route's declaration. */
import type { TSchema } from 'typebox';
import { expect } from 'vitest';
import type { DeprecationRegistry } from '../../src/contract/deprecations.ts';
import { type ErrorCode, errorCatalog } from '../../src/contract/errors.ts';
import { possibleErrors } from '../../src/platform/http/openapi.ts';
import type { Route } from '../../src/platform/http/route.ts';
import { compileBody, type Validator } from '../../src/platform/http/validation.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** `route` is undefined where no route matched. HEAD answers have no body to look at. */
export function checkAnswer(answer: Answer, route: Route | undefined, method = 'GET'): void {
  expect(answer.headers['x-svc-trace-id'], 'trace id').toMatch(/^[0-9a-f]{32}$/);
  if (method === 'HEAD') {
    return;
  }
  if (answer.status >= 400) {
    checkEnvelope(answer, route);
  } else if (route !== undefined) {
    expect(answer.status).toBe(route.success);
    const [type] = String(answer.headers['content-type']).split(';');
    if (route.contentTypes !== undefined && (route.response === undefined || type !== 'application/json')) {
      expect(route.contentTypes).toContain(type);
    } else if (route.response === undefined) {
      expect(answer.text).toBe('');
    } else {
      expect(compiled(route.response)(JSON.parse(answer.text)), 'response schema').toEqual([]);
    }
  }
}

/** The signals of a deprecation stand on every answer of a flagged route and on no other. */
export function checkSignals(
  { headers }: Answer,
  route: Route | undefined,
  registry: DeprecationRegistry,
): void {
  const entry = route && registry.find(route.path);
  const told = ['deprecation', 'sunset', 'link'].filter((name) => headers[name] !== undefined);
  expect(told, route?.path).toEqual(entry === undefined ? [] : ['deprecation', 'sunset', 'link']);
}

function checkEnvelope({ status, headers, text }: Answer, route: Route | undefined): void {
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['cache-control']).toBe('no-store');
  const body = JSON.parse(text) as { error: { code: ErrorCode; message: string; details: object } };
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error).sort()).toEqual(['code', 'details', 'message']);
  const { code, message, details } = body.error;
  const entry = errorCatalog[code];
  expect(entry, `code ${code} is in the catalog`).toBeDefined();
  expect(entry.statuses as readonly number[]).toContain(status);
  expect(message).toMatch(/\S/);
  expect(compiled(entry.details)(details), 'details schema').toEqual([]);
  if (Object.keys(entry.details.properties).length === 0) {
    expect(details).toEqual({});
  }
  if (status === 401) {
    expect(headers['www-authenticate']).toMatch(/^Bearer/);
  }
  if (code === 'rate_limited') {
    expect(headers['retry-after']).toBe(
      String((details as { retry_after_seconds: number }).retry_after_seconds),
    );
  } else {
    expect(headers['retry-after']).toBeUndefined();
  }
  // Nothing of the inside gets out.
  expect(text).not.toMatch(/node_modules|\.ts:\d|\.js:\d|SELECT |INSERT |pglite|ECONN/i);
  if (route !== undefined) {
    expect(possibleErrors(route), `${route.id} declares ${code}`).toContain(code);
  }
}

const validators = new Map<TSchema, Validator>();

function compiled(schema: TSchema): Validator {
  const known = validators.get(schema) ?? compileBody(schema);
  validators.set(schema, known);
  return known;
}
