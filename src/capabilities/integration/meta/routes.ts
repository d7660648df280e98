import { Type } from 'typebox';
import { rendered, renderedFrom } from '../../../platform/http/routes/rendered.ts';
import { publicDocument, publicRead, type Route } from '../../../platform/http/routes/route.ts';
import { ErrorList, EventList, errorEntries, eventEntries, gatewayErrorEntries } from './schema.ts';

/** `openApi` is called on each request, because the document describes all routes, including these. */
export function metaRoutes(openApi: () => object): Route[] {
  const document = renderedFrom(openApi, (from) =>
    rendered('application/json; charset=utf-8', JSON.stringify(from)),
  );
  return [
    publicRead({
      id: 'meta.errors',
      path: '/v1/meta/errors',
      summary: 'List all error codes',
      response: ErrorList,
      handler: async () => ({ data: errorEntries(), next_cursor: null, gateway: gatewayErrorEntries() }),
    }),
    publicRead({
      id: 'meta.events',
      path: '/v1/meta/events',
      summary: 'List all event types',
      description: 'The events that a webhook subscription can receive.',
      response: EventList,
      handler: async () => ({ data: eventEntries(), next_cursor: null }),
    }),
    publicDocument({
      id: 'meta.openapi',
      path: '/v1/openapi.json',
      summary: 'Get the OpenAPI document',
      response: Type.Unsafe<object>({ type: 'object' }),
      handler: document,
    }),
  ];
}
