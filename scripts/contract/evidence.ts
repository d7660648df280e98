/** Reads the current state of the code, which the rules compare with the contract and with the published baseline. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import inject from 'light-my-request';
import { messageOf } from '../../src/capabilities/integration/webhooks/message.ts';
import type { Receiver } from '../../src/capabilities/integration/webhooks/receivers.ts';
import { deprecatedSettings, describeSettings } from '../../src/config/settings.ts';
import type { Announcement } from '../../src/contract/deprecation-headers.ts';
import { announcedDeprecations, type Deprecation } from '../../src/contract/deprecations.ts';
import { errorCatalog } from '../../src/contract/errors.ts';
import { orgRoles, scopes } from '../../src/contract/scopes.ts';
import { orgSignedDelivery } from '../../src/contract/webhook-signing.ts';
import { declaredApp } from '../../test/support/declared-routes.ts';
import { type MetricFamily, metricFamilies } from './metric-families.ts';
import type { OpenApi } from './openapi-document.ts';
import type { Schema } from './schema-form.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Evidence {
  readonly openApi: OpenApi;
  /** Access rule of each operation, such as `GET /v1/runs`. */
  readonly access: Readonly<Record<string, Schema>>;
  readonly catalog: Readonly<
    Record<string, { readonly statuses: readonly number[]; readonly details: Schema }>
  >;
  readonly registry: readonly Deprecation[];
  readonly settings: readonly { readonly name: string; readonly deprecated?: string }[];
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly metrics: Readonly<Record<string, MetricFamily>>;
  /** Real responses to callers without a key, by `GET /v1/path`. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** Announcement that deliveries signed with the org's secret are deprecated. */
  readonly orgSignedDelivery: Announcement;
  /** The headers of such a delivery, and of one signed with the subscription's own secret; names in lowercase. */
  readonly deliveries: {
    readonly v1: Readonly<Record<string, string>>;
    readonly v2: Readonly<Record<string, string>>;
  };
}

export const unmatchedRoute = 'GET /v1/there-is-no-such-route';

/** `openApi` is the generated document, which another check keeps current. */
export async function gatherEvidence(openApi: OpenApi): Promise<Evidence> {
  const app = declaredApp();
  const ask = (operation: string) => answerOf(app.handler, operation);
  const flagged = new Set(announcedDeprecations.map(({ route }) => route));
  const asked = [
    unmatchedRoute,
    'GET /v1/meta/deprecations',
    ...app.routes.filter(({ path }) => flagged.has(path)).map(({ method, path }) => `${method} ${path}`),
    // Last, so that it includes the calls before it.
    'GET /metrics',
  ];
  const answers: Record<string, Answer> = {};
  for (const operation of asked) {
    answers[operation] = await ask(operation);
  }
  // Through JSON, so that the result is plain data.
  return JSON.parse(
    JSON.stringify({
      openApi,
      access: Object.fromEntries(app.routes.map(({ method, path, access }) => [`${method} ${path}`, access])),
      catalog: errorCatalog,
      registry: announcedDeprecations,
      orgSignedDelivery,
      deliveries: { v1: deliveryHeaders(null), v2: deliveryHeaders({ secret: 'own', previous: null }) },
      settings: settingsOf(),
      scopes,
      roles: orgRoles,
      metrics: metricFamilies(answers['GET /metrics']?.body ?? ''),
      answers,
    }),
  ) as Evidence;
}

async function answerOf(
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
  operation: string,
): Promise<Answer> {
  const [method = 'GET', path = ''] = operation.split(' ');
  const { statusCode, headers, payload } = await inject(
    (request, response) => void handler(request as IncomingMessage, response as ServerResponse),
    { method: method as 'GET', url: path.replaceAll(/\{\w+\}/g, 'x') },
  );
  return {
    status: statusCode,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: payload,
  };
}

/** Returns the headers of a delivery sent now. */
function deliveryHeaders(own: Receiver['own']): Record<string, string> {
  const now = new Date();
  const { headers } = messageOf(
    {
      status: 'active',
      url: 'https://receiver.example',
      format: 'json',
      recipients: [],
      own,
      orgSecret: 'of the org',
    },
    { id: 'evt_x' },
    Buffer.from('{}'),
    now,
    { docsUrl: 'http://localhost/docs', userAgent: 'purser' },
  );
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function settingsOf(): Evidence['settings'] {
  return describeSettings({}).map(({ name }) => {
    const [deprecated] = deprecatedSettings({ [name]: 'set' });
    return deprecated === undefined ? { name } : { name, deprecated: deprecated.notice };
  });
}
