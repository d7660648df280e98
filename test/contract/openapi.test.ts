import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorCatalog } from '../../src/contract/errors.ts';
import { possibleErrors } from '../../src/platform/http/routes/openapi.ts';
import { dereferenced } from '../../src/platform/http/routes/openapi-references.ts';
import { useWorld } from '../harness.ts';

const world = useWorld();
// biome-ignore lint/suspicious/noExplicitAny: the document is what is under test.
let document: any;
// biome-ignore lint/suspicious/noExplicitAny: the same document without shared schemas and responses.
let inlined: any;
beforeAll(async () => {
  document = (await world.request('GET', '/v1/openapi.json')).json;
  inlined = dereferenced(document);
});

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

test('the OpenAPI document is valid OpenAPI 3.1 under a linter', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    // Every operation must declare a 4xx response. Servers on localhost are allowed, because the product is
    // self-hosted.
    rules: { 'operation-4xx-response': 'error', 'no-server-example.com': 'off', 'no-empty-servers': 'error' },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
  ).toEqual([]);
});

test('the OpenAPI document has exactly the declared operations, each with a unique id', () => {
  const described = Object.entries(inlined.paths).flatMap(([path, item]) =>
    Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.sort()).toEqual(world.app.routes.map(({ method, path }) => `${method} ${path}`).sort());
  const ids = world.app.routes.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('operation ids make unique names of methods', () => {
  const items = [...Object.values(inlined.paths), ...Object.values(inlined.webhooks)] as object[];
  const ids = items.flatMap((item) => Object.values(item).map(({ operationId }) => String(operationId)));
  expect(ids.filter((id) => !/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/.test(id))).toEqual([]);
  const methods = ids.map((id) => id.replaceAll(/[._]/g, ''));
  expect(methods.filter((method, index) => methods.indexOf(method) !== index)).toEqual([]);
});

test('the schemas of bodies and queries are valid', () => {
  const ajv = new Ajv2020();
  for (const { id, body, query } of world.app.routes) {
    for (const schema of [body, query].filter((one) => one !== undefined)) {
      expect([id, ajv.validateSchema(schema), ajv.errors]).toEqual([id, true, null]);
    }
  }
  expect(ajv.validateSchema({ type: 'text' })).toBe(false);
});

describe('every operation lists its error statuses and codes', () => {
  test('exactly those that its declaration and the pipeline allow', () => {
    const changed = new Set(
      world.app.routes.filter(({ method }) => method === 'PATCH' || method === 'PUT').map(({ path }) => path),
    );
    for (const route of world.app.routes) {
      const { responses } = inlined.paths[route.path][route.method.toLowerCase()];
      const statuses = new Set([
        route.success,
        ...(route.run.kind === 'document' || (route.kind === 'read' && changed.has(route.path)) ? [304] : []),
        ...possibleErrors(route).flatMap((code) => [...errorCatalog[code].statuses]),
      ]);
      expect(Object.keys(responses).map(Number).sort()).toEqual([...statuses].sort());
      for (const code of possibleErrors(route)) {
        expect(JSON.stringify(responses[errorCatalog[code].statuses[0]])).toContain(`Error_${code}`);
      }
    }
  });
});

test('names every resource, request, list and error response', () => {
  const unnamed = Object.values<Record<string, Operation>>(document.paths)
    .flatMap(({ parameters, ...item }) => Object.values(item))
    .flatMap(({ operationId, requestBody, responses }) => {
      const schemas = [requestBody, ...Object.values(responses)].flatMap(
        (one) => one?.content?.['application/json']?.schema ?? [],
      );
      return schemas.some((schema) => 'properties' in schema) ? [operationId] : [];
    });
  expect(unnamed).toEqual([]);
  const { get, post } = document.paths['/v1/runs'];
  const schema = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } });
  expect(get.responses[200].content).toEqual({ 'application/json': schema('RunList') });
  expect(post.responses[201].content).toEqual({ 'application/json': schema('Run') });
  expect(post.requestBody.content).toEqual({ 'application/json': schema('CreateRun') });
  expect(post.responses[401]).toEqual({ $ref: '#/components/responses/Error401' });
  const { RunList } = document.components.schemas;
  expect(RunList.properties.data.items).toEqual({ $ref: '#/components/schemas/Run' });
});

test('repeats nothing that it can refer to', () => {
  const operations = world.app.routes.length;
  const isText = (name: string, value: unknown) => name === 'description' && typeof value === 'string';
  const structure = JSON.stringify(document, (name, value) => (isText(name, value) ? undefined : value));
  // 2,562 bytes when this was written, half of them references to error responses and headers.
  expect(structure.length / operations).toBeLessThan(2_610);
});

test('names the address of each error code in the documentation', async () => {
  const { schemas } = (await world.request('GET', '/v1/openapi.json')).json.components;
  const { text } = await world.request('GET', '/docs/errors');
  const names = Object.keys(schemas).filter((name) => name.startsWith('Error_'));
  expect(names).toHaveLength(32);
  for (const name of names) {
    const code = name.slice('Error_'.length);
    expect(schemas[name].externalDocs).toEqual({ url: `http://localhost/docs/errors#${code}` });
    expect(text).toContain(`id="${code}"`);
  }
});

test('the error listing equals the catalog', async () => {
  const { json } = await world.request('GET', '/v1/meta/errors');
  expect(json.data).toHaveLength(32);
  expect(json.data).toContainEqual({
    code: 'rate_limited',
    statuses: [429],
    details: ['retry_after_seconds'],
    retry: 'after_interval',
    meaning: expect.any(String),
  });
});

test('the start page of the documentation has an anchor for every operation and loads nothing from other hosts', async () => {
  const page = await world.request('GET', '/docs');
  expect(page.status).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  for (const { id, path } of world.app.routes) {
    expect(page.text).toContain(`id="${id}"`);
    expect(page.text).toContain(path);
  }
  expect(page.text).not.toMatch(/<script>|<style|(src|href)="(https?:)?\/\/|@import|url\(/);
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'/);
});
