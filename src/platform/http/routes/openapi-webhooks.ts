/** Builds the `webhooks` of the OpenAPI document from the event catalog. */
import { eventKind, eventSchema, eventTypes } from '../../../contract/events.ts';
import { eventVersionHeader, signatureHeader } from '../../../contract/webhook-signing.ts';
import type { OpenApiObject } from './openapi-shared.ts';

export function describeWebhooks(): OpenApiObject {
  return Object.fromEntries(
    eventTypes.map((type) => {
      const { meaning, example } = eventKind(type);
      return [
        type,
        {
          post: {
            operationId: `event.${type}`,
            summary: meaning,
            tags: ['webhooks'],
            security: [],
            parameters,
            requestBody: {
              required: true,
              content: {
                'application/json': {
                  schema: eventSchema(type),
                  example: {
                    id: 'evt_01hzy4t0000000000000000000',
                    type,
                    created_at: '2026-11-15T12:00:00.000Z',
                    org_id: 'org_01hzy4t0000000000000000000',
                    data: example,
                  },
                },
              },
            },
            responses: {
              '2XX': { description: 'Received. Any other status, including a redirect, is retried later.' },
              '410': { description: 'Gone: disables the subscription.' },
            },
          },
        },
      ];
    }),
  );
}

const parameters = [
  {
    name: signatureHeader,
    in: 'header',
    required: true,
    description:
      "HMAC-SHA256 in lowercase hex. `t=<Unix seconds>,v1=<hex>` over `t`, a dot and the raw body, keyed with the subscription's " +
      "secret (twice `v1=` while a rotation overlaps). Deprecated: `v1=<hex>` over the raw body, keyed with the org's secret.",
    schema: { type: 'string' },
  },
  {
    name: eventVersionHeader,
    in: 'header',
    required: true,
    description: "`2` if signed with the subscription's own secret, `1` if signed with the org's.",
    schema: { type: 'string', enum: ['1', '2'] },
  },
];
