/** Shared components of an OpenAPI document. */
import { expect, test } from 'vitest';
import { withComponents } from './openapi-components.ts';
import { schemaNamesOf } from './openapi-names.ts';
import { dereferenced } from './openapi-references.ts';

const budget = { type: 'object', properties: { id: { type: 'string' } } };
const alert = { type: 'object', properties: { percent: { type: 'integer' } } };
const list = { type: 'object', properties: { data: { type: 'array', items: budget } } };
const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } };
const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } };

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const error = (...codes: string[]) => ({
  headers: {},
  ...json({ oneOf: codes.map((code) => ({ $ref: `#/components/schemas/Error_${code}` })) }),
});
const errors = { Error_a: { type: 'object' }, Error_b: { type: 'object' } };

function documentOf(create: object = budget) {
  return {
    paths: {
      '/budgets': {
        get: {
          operationId: 'budgets.list',
          parameters: [limit],
          responses: { 200: json(list), 403: error('a') },
        },
        post: {
          operationId: 'budgets.create',
          parameters: [key],
          requestBody: json({ type: 'object', properties: { parent: budget, alert } }),
          responses: { 201: json(create), 403: error('a', 'b') },
        },
      },
    },
    webhooks: {},
    components: { schemas: errors },
  };
}

test('resources, lists, requests, errors and headers are shared, also within each other', () => {
  const ref = (path: string) => ({ $ref: `#/components/${path}` });
  const shared = withComponents(documentOf(), {});
  expect(shared).toEqual({
    paths: {
      '/budgets': {
        get: {
          operationId: 'budgets.list',
          parameters: [limit],
          responses: { 200: json(ref('schemas/BudgetList')), 403: ref('responses/Error403') },
        },
        post: {
          operationId: 'budgets.create',
          parameters: [ref('parameters/Idempotency-Key')],
          requestBody: json(ref('schemas/CreateBudget')),
          responses: { 201: json(ref('schemas/Budget')), 403: ref('responses/Error403_b') },
        },
      },
    },
    webhooks: {},
    components: {
      schemas: {
        Budget: budget,
        BudgetList: {
          type: 'object',
          properties: { data: { type: 'array', items: ref('schemas/Budget') } },
        },
        CreateBudget: {
          type: 'object',
          properties: { parent: ref('schemas/Budget'), alert: ref('schemas/CreateBudget_alert') },
        },
        CreateBudget_alert: alert,
        ...errors,
      },
      responses: { Error403: error('a'), Error403_b: error('a', 'b') },
      parameters: { 'Idempotency-Key': key },
    },
  });
  expect(dereferenced(shared).paths).toEqual(documentOf().paths);
});

test('two different schemas cannot have the same name', () => {
  const other = { type: 'object', properties: { name: { type: 'string' } } };
  expect(() => withComponents(documentOf(other), {})).toThrow(/would be called Budget/);
  const names = { 'budgets.create': { response: 'NewBudget' } };
  expect(withComponents(documentOf(other), names)).toMatchObject({
    components: { schemas: { Budget: budget, NewBudget: other } },
  });
});

test.each([
  ['policies.list', 'PolicyList'],
  ['webhooks.deliveries.list', 'WebhookDeliveryList'],
  ['org_address.list', 'OrgAddressList'],
])('the list of %s is called %s', (id, name) => {
  expect(schemaNamesOf(id, {}).list).toBe(name);
});
