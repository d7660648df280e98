/** Shared components of an OpenAPI document. */
import { expect, test } from 'vitest';
import { withComponents } from './openapi-components.ts';
import { schemaNamesOf } from './openapi-names.ts';
import { dereferenced } from './openapi-references.ts';

const period = { type: 'string', enum: ['day', 'month'] };
const budget = { type: 'object', properties: { id: { type: 'string' }, period } };
const alert = { type: 'object', properties: { percent: { type: 'integer' } } };
const list = { type: 'object', properties: { data: { type: 'array', items: budget } } };
const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } };
const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } };

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const names = { operations: {}, words: {} };

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const error = (...codes: string[]) => ({
  headers: {},
  ...json({ oneOf: codes.map((code) => ({ $ref: `#/components/schemas/Error_${code}` })) }),
});
const gone = { description: 'Success.', headers: {} };
const event = (type: string, data: object) => ({
  operationId: 'event',
  parameters: [],
  requestBody: json({ type: 'object', properties: { type: { const: type }, data } }),
  responses: { 410: { description: 'Gone.' } },
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
          requestBody: json({ type: 'object', properties: { parent: budget, alert, period } }),
          responses: { 201: json(create), 403: error('a', 'b') },
        },
      },
      '/budgets/{id}': {
        delete: {
          operationId: 'budgets.delete',
          parameters: [id, key],
          responses: { 204: gone, 403: error('a') },
        },
      },
      '/budgets/{id}/alerts': {
        get: {
          operationId: 'budgets.alerts',
          parameters: [id, { ...limit, schema: { type: 'string' } }],
          responses: { 204: gone, 403: error('a') },
        },
      },
    },
    webhooks: {
      'budget.created': { post: event('budget.created', alert) },
      'budget.updated': { post: event('budget.updated', alert) },
      'budget.deleted': { post: event('budget.deleted', { type: 'object', properties: {} }) },
    },
    components: { schemas: errors },
  };
}

test('what operations and events repeat is shared, and the meaning stays the same', () => {
  const ref = (path: string) => ({ $ref: `#/components/${path}` });
  const shared = withComponents(documentOf(), { operations: {}, words: { Period: 'Budget.period' } });
  const sharedEvent = (name: string) => ({
    post: {
      operationId: 'event',
      requestBody: json(ref(`schemas/${name}`)),
      responses: { 410: ref('responses/Webhook410') },
    },
  });
  const eventSchema = (type: string, data: string) => ({
    type: 'object',
    properties: { type: { const: type }, data: ref(`schemas/${data}`) },
  });
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
      '/budgets/{id}': {
        parameters: [ref('parameters/path_id')],
        delete: {
          operationId: 'budgets.delete',
          parameters: [ref('parameters/Idempotency-Key')],
          responses: { 204: ref('responses/NoContent'), 403: ref('responses/Error403') },
        },
      },
      '/budgets/{id}/alerts': {
        parameters: [ref('parameters/path_id')],
        get: {
          operationId: 'budgets.alerts',
          parameters: [{ ...limit, schema: { type: 'string' } }],
          responses: { 204: ref('responses/NoContent'), 403: ref('responses/Error403') },
        },
      },
    },
    webhooks: {
      'budget.created': sharedEvent('BudgetCreatedEvent'),
      'budget.updated': sharedEvent('BudgetUpdatedEvent'),
      'budget.deleted': sharedEvent('BudgetDeletedEvent'),
    },
    components: {
      schemas: {
        Budget: { type: 'object', properties: { id: { type: 'string' }, period: ref('schemas/Period') } },
        BudgetList: {
          type: 'object',
          properties: { data: { type: 'array', items: ref('schemas/Budget') } },
        },
        BudgetCreatedEvent: eventSchema('budget.created', 'BudgetEventData'),
        BudgetUpdatedEvent: eventSchema('budget.updated', 'BudgetEventData'),
        BudgetDeletedEvent: eventSchema('budget.deleted', 'BudgetDeletedEventData'),
        BudgetEventData: alert,
        BudgetDeletedEventData: { type: 'object', properties: {} },
        CreateBudget: {
          type: 'object',
          properties: {
            parent: ref('schemas/Budget'),
            alert: ref('schemas/BudgetEventData'),
            period: ref('schemas/Period'),
          },
        },
        Period: period,
        ...errors,
      },
      responses: {
        NoContent: gone,
        Error403: error('a'),
        Error403_b: error('a', 'b'),
        Webhook410: { description: 'Gone.' },
      },
      parameters: { path_id: id, 'Idempotency-Key': key },
    },
  });
  const { paths, webhooks } = dereferenced(shared);
  expect({ paths, webhooks }).toEqual({ paths: documentOf().paths, webhooks: documentOf().webhooks });
});

test('of different parameters with one name, the most frequent one is shared', () => {
  const { paths } = documentOf();
  paths['/budgets/{id}'].delete.parameters.push(limit);
  expect(withComponents({ ...documentOf(), paths }, names)).toMatchObject({
    components: { parameters: { limit } },
  });
});

test('an object within a schema is named by its field', () => {
  const document = { ...documentOf(), webhooks: {} };
  expect(withComponents(document, names)).toMatchObject({
    components: { schemas: { CreateBudget_alert: alert } },
  });
});

test('two different schemas cannot have the same name', () => {
  const other = { type: 'object', properties: { name: { type: 'string' } } };
  expect(() => withComponents(documentOf(other), names)).toThrow(/would be called Budget/);
  const operations = { 'budgets.create': { response: 'NewBudget' } };
  expect(withComponents(documentOf(other), { ...names, operations })).toMatchObject({
    components: { schemas: { Budget: budget, NewBudget: other } },
  });
});

test('a name for words that the document does not have is rejected', () => {
  const words = { Period: 'Budget.window' };
  expect(() => withComponents(documentOf(), { ...names, words })).toThrow(/no words at Budget.window/);
});

test.each([
  ['policies.list', 'PolicyList'],
  ['webhooks.deliveries.list', 'WebhookDeliveryList'],
  ['org_address.list', 'OrgAddressList'],
])('the list of %s is called %s', (id, name) => {
  expect(schemaNamesOf(id, {}).list).toBe(name);
});
