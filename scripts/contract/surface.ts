/** The published surface except the settings, as one value that can be stored and compared. */
import type { Evidence } from './evidence.ts';
import type { MetricFamily } from './metric-families.ts';
import {
  type Content,
  codesIn,
  type OpenApi,
  type OpenApiOperation,
  operationsOf,
  resolved,
} from './openapi-document.ts';
import { normalize, type Schema } from './schema-form.ts';

export interface Operation {
  readonly id: string;
  readonly access: Schema;
  /** Parameters by location and name, such as `query limit`. */
  readonly parameters: Readonly<Record<string, { readonly required: boolean; readonly schema: Schema }>>;
  readonly body?: { readonly required: boolean; readonly content: Readonly<Record<string, Schema>> };
  readonly answers: Readonly<
    Record<
      string,
      {
        readonly headers: readonly string[];
        readonly codes: readonly string[];
        readonly content: Readonly<Record<string, Schema>>;
      }
    >
  >;
}

export interface Surface {
  readonly operations: Readonly<Record<string, Operation>>;
  /** Payload schema of each event type. */
  readonly events: Readonly<Record<string, { readonly headers: readonly string[]; readonly body: Schema }>>;
  readonly codes: Readonly<
    Record<string, { readonly statuses: readonly number[]; readonly details: Schema }>
  >;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly metrics: Readonly<Record<string, MetricFamily>>;
}

export function surfaceOf({ openApi, access, catalog, scopes, roles, metrics }: Evidence): Surface {
  return {
    operations: byName(
      Object.entries(operationsOf(openApi)).map(([name, operation]) => [
        name,
        describe(openApi, operation, access[name] ?? {}),
      ]),
    ),
    events: byName(
      Object.entries(openApi.webhooks ?? {}).map(([event, item]) => [
        event,
        {
          headers: (item.post?.parameters ?? []).map(({ name }) => name).sort(),
          body: Object.values(contentOf(openApi, item.post?.requestBody?.content))[0] ?? {},
        },
      ]),
    ),
    codes: byName(
      Object.entries(catalog).map(([code, { statuses, details }]) => [
        code,
        { statuses, details: normalize(details) },
      ]),
    ),
    scopes: [...scopes].sort(),
    // From least to most powerful; the order is significant.
    roles,
    metrics: byName(Object.entries(metrics)),
  };
}

function describe(document: OpenApi, operation: OpenApiOperation, access: Schema): Operation {
  const { operationId, parameters, requestBody, responses } = operation;
  return {
    id: operationId,
    access,
    parameters: byName(
      (parameters ?? []).map(({ name, in: place, required, schema }) => [
        `${place} ${name}`,
        { required: required === true, schema: resolved(document, schema) },
      ]),
    ),
    ...(requestBody !== undefined && {
      body: { required: requestBody.required === true, content: contentOf(document, requestBody.content) },
    }),
    answers: byName(
      Object.entries(responses).map(([status, { headers, content }]) => {
        const codes = codesIn(content);
        return [
          status,
          {
            headers: Object.keys(headers ?? {}).sort(),
            codes,
            // The envelope and the details of each code are stored once, under `codes`.
            content: codes.length > 0 ? {} : contentOf(document, content),
          },
        ];
      }),
    ),
  };
}

function contentOf(document: OpenApi, content: Content | undefined): Record<string, Schema> {
  return byName(
    Object.entries(content ?? {}).map(([mediaType, { schema }]) => [mediaType, resolved(document, schema)]),
  );
}

/** Sorts entries by name, so that moving a declaration changes nothing. */
function byName<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
