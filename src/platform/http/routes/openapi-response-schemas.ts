/**
 * The published schemas of responses: what clients may rely on. Responses get new fields and bounds are raised. So the published
 * schema allows unknown fields and has no bounds, and a client generated from it accepts both changes. The declared schema of a
 * route stays exact, for tests.
 */
import { mapValues, type OpenApiObject } from './openapi-shared.ts';

const bounds = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties'],
]);

export function responseSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) {
    return schema;
  }
  const entries = Object.entries(schema as OpenApiObject).flatMap(([keyword, value]): [string, unknown][] => {
    switch (keyword) {
      case 'additionalProperties':
        return value === false ? [] : [[keyword, responseSchema(value)]];
      case 'properties':
      case 'patternProperties':
        return [[keyword, mapValues(value as OpenApiObject, responseSchema)]];
      case 'items':
        return [[keyword, responseSchema(value)]];
      case 'anyOf':
      case 'oneOf':
      case 'allOf':
        return [[keyword, (value as unknown[]).map(responseSchema)]];
      default:
        return bounds.has(keyword) ? [] : [[keyword, value]];
    }
  });
  return Object.fromEntries(entries);
}
