/** Checks responses against the contract: the envelope, the catalog and the declaration of the route. */
import assert from 'node:assert/strict';
import type { TSchema } from 'typebox';
import type { DeprecationRegistry } from '../../src/contract/deprecations.ts';
import { type ErrorCode, errorCatalog } from '../../src/contract/errors.ts';
import { possibleErrors } from '../../src/platform/http/routes/openapi.ts';
import type { Route } from '../../src/platform/http/routes/route.ts';
import { compileBody, type Validator } from '../../src/platform/http/routes/validation.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/**
 * `route` is undefined if no route matched. HEAD responses have no body to check. Every response is checked, so this
 * uses Node's assertions: those of the test runner take as long as many requests.
 */
export function checkAnswer(answer: Answer, route: Route | undefined, method = 'GET'): void {
  assert.match(String(answer.headers['x-svc-trace-id']), /^[0-9a-f]{32}$/, 'trace id');
  if (method === 'HEAD') {
    return;
  }
  if (answer.status >= 400) {
    checkEnvelope(answer, route);
  } else if (answer.status === 304) {
    assert.equal(route?.kind, 'read');
    assert.deepEqual([answer.text, answer.headers['content-type']], ['', undefined]);
  } else if (route !== undefined) {
    assert.equal(answer.status, route.success);
    const [type = ''] = String(answer.headers['content-type']).split(';');
    if (route.contentTypes !== undefined && (route.response === undefined || type !== 'application/json')) {
      assert.ok(route.contentTypes.includes(type), `${type} is declared`);
    } else if (route.response === undefined) {
      assert.equal(answer.text, '');
    } else {
      assert.deepEqual(compiled(route.response)(JSON.parse(answer.text)), [], 'response schema');
    }
  }
}

/** Checks that the deprecation headers are on every response of a deprecated route, and on no other response. */
export function checkSignals(
  { headers }: Answer,
  route: Route | undefined,
  registry: DeprecationRegistry,
): void {
  const entry = route && registry.find(route.path);
  for (const name of ['deprecation', 'sunset', 'link']) {
    assert.equal(headers[name] !== undefined, entry !== undefined, `${name} of ${route?.path}`);
  }
}

function checkEnvelope({ status, headers, text }: Answer, route: Route | undefined): void {
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(headers['cache-control'], 'no-store');
  const body = JSON.parse(text) as { error: { code: ErrorCode; message: string; details: object } };
  assert.deepEqual(Object.keys(body), ['error']);
  assert.deepEqual(Object.keys(body.error).sort(), ['code', 'details', 'message']);
  const { code, message, details } = body.error;
  const entry = errorCatalog[code];
  assert.ok(entry, `code ${code} is in the catalog`);
  assert.ok((entry.statuses as readonly number[]).includes(status), `${code} has the status ${status}`);
  assert.match(message, /\S/);
  assert.deepEqual(compiled(entry.details)(details), [], 'details schema');
  if (Object.keys(entry.details.properties).length === 0) {
    assert.deepEqual(details, {});
  }
  if (status === 401) {
    assert.match(String(headers['www-authenticate']), /^Bearer/);
  }
  assert.equal(
    headers['retry-after'],
    code === 'rate_limited'
      ? String((details as { retry_after_seconds: number }).retry_after_seconds)
      : undefined,
  );
  // The response must not reveal internals.
  assert.doesNotMatch(text, /node_modules|\.ts:\d|\.js:\d|SELECT |INSERT |pglite|ECONN/i);
  if (route !== undefined) {
    assert.ok(possibleErrors(route).includes(code), `${route.id} declares ${code}`);
  }
}

const validators = new Map<TSchema, Validator>();

function compiled(schema: TSchema): Validator {
  const known = validators.get(schema) ?? compileBody(schema);
  validators.set(schema, known);
  return known;
}
