import { expect, test } from 'vitest';
import { responseSchema } from './openapi-response-schemas.ts';

test('a published response accepts new fields and higher bounds, and keeps everything else', () => {
  const declared = {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 200, pattern: '\\S', description: 'Name.' },
      maximum: { type: ['integer', 'null'], minimum: 0, maximum: 5 },
      rows: {
        type: 'array',
        maxItems: 9,
        items: { type: 'object', additionalProperties: false, properties: {} },
      },
      tags: { type: 'object', additionalProperties: { type: 'string', maxLength: 9 } },
      either: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
      kind: { type: 'string', enum: ['a', 'b'] },
    },
  };
  expect(responseSchema(declared)).toEqual({
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', pattern: '\\S', description: 'Name.' },
      maximum: { type: ['integer', 'null'] },
      rows: { type: 'array', items: { type: 'object', properties: {} } },
      tags: { type: 'object', additionalProperties: { type: 'string' } },
      either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      kind: { type: 'string', enum: ['a', 'b'] },
    },
  });
});
