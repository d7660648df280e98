/** The catalog, the API and its settings, compared with the names in the contract. */
import { beforeAll, describe, expect, test } from 'vitest';
import { unmatchedRoute } from '../../scripts/contract/evidence.ts';
import { checkProject, type Project } from '../../scripts/contract/project.ts';
import {
  type Draft,
  intactProject,
  refusals,
  refusalsOnceRecorded,
  type Tamper,
  wholeProject,
  withForecast,
} from './intact.ts';

let project: Project;
beforeAll(async () => {
  project = await intactProject();
});

type Case = readonly [title: string, tamper: Tamper, refusal: string];

function refuses(cases: readonly Case[], subject: () => Project = () => project) {
  test.each(cases)('%s', (_title, tamper, refusal) => {
    expect(refusals(subject(), tamper)).toContainEqual(expect.stringContaining(refusal));
    expect(refusalsOnceRecorded(subject(), tamper), 'recorded').toContainEqual(
      expect.stringContaining(refusal),
    );
  });
}

test('the project as it is keeps every promise', async () => {
  expect(checkProject(await wholeProject())).toEqual([]);
});

test('an edit of the frozen contract is refused, whatever the code says', () => {
  const edited = refusals(project, (draft) => {
    draft.contractText = draft.contractText.replace('"v1_overlap_months": 12', '"v1_overlap_months": 1');
  });
  expect(edited).toEqual([
    'contract/contract.json was edited. Promise: The frozen contract is the only document; nothing records it anew.',
  ]);
});

describe('the catalog', () => {
  const catalog =
    (change: (codes: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(evidence.catalog);
  refuses([
    [
      'a code is renamed',
      catalog((codes) => {
        codes.out_of_money = codes.budget_exceeded;
        delete codes.budget_exceeded;
      }),
      'the code budget_exceeded was removed or renamed. Promise: Codes are append-only',
    ],
    [
      'a new code is not snake_case',
      catalog((codes) => (codes.OutOfMoney = codes.gone)),
      'OutOfMoney is not snake_case',
    ],
    [
      'a status is added',
      catalog((codes) => codes.conflict.statuses.push(412)),
      'the code conflict has the status 409 or 412, not 409. Promise: Codes are append-only',
    ],
    [
      'a status is removed',
      catalog((codes) => codes.quota_exhausted.statuses.pop()),
      'the code quota_exhausted has the status 402, not 402 or 429',
    ],
    [
      'a field of the details is removed',
      catalog((codes) => delete codes.rate_limited.details.properties.retry_after_seconds),
      'details.retry_after_seconds of rate_limited was removed or renamed. Promise: The details of a code',
    ],
    [
      'a field of the details becomes optional',
      catalog((codes) => codes.missing_scope.details.required.pop()),
      'details.required of missing_scope may now be left out',
    ],
    [
      'a value of the details is removed',
      catalog((codes) => codes.chain_budget_exceeded.details.properties.reason.anyOf.pop()),
      'details.reason of chain_budget_exceeded lost its value tokens. Promise: A path, operation, field, enum value',
    ],
    [
      'a value that was free text is shut out',
      catalog((codes) => (codes.spend_cap_exceeded.details.properties.reason.enum = ['late'])),
      'details.reason of spend_cap_exceeded lost its value pre_flight',
    ],
    [
      'money becomes a number',
      catalog((codes) => (codes.spend_cap_exceeded.details.properties.cap_usd = { type: 'number' })),
      'details.cap_usd of spend_cap_exceeded is no longer a value of type decimal string',
    ],
    [
      'an instant becomes any text',
      catalog((codes) => delete codes.spend_cap_exceeded.details.properties.resets_at.format),
      'details.resets_at of spend_cap_exceeded is no longer a value of type timestamp',
    ],
    [
      'an entry of a field error may lack its code',
      catalog(
        (codes) => (codes.validation_failed.details.properties.fields.items.required = ['field', 'message']),
      ),
      'details.fields of validation_failed is no longer a value of type field errors',
    ],
    [
      'a part of a field error changes its type',
      catalog(
        (codes) =>
          (codes.validation_failed.details.properties.fields.items.properties.code = { type: 'integer' }),
      ),
      'details.fields of validation_failed is no longer a value of type field errors',
    ],
    [
      'the seconds to wait become text',
      catalog((codes) => (codes.rate_limited.details.properties.retry_after_seconds = { type: 'string' })),
      'details.retry_after_seconds of rate_limited is no longer a value of type integer',
    ],
    [
      'a code of field errors is renamed',
      catalog(({ validation_failed: { details } }) => {
        const { code } = details.properties.fields.items.properties;
        code.description = code.description.replace('`too_many`', '`too_much`');
      }),
      'the field error code too_many was removed or renamed. Promise: validation_failed lists',
    ],
  ]);

  test('codes, details and their values may be added', () => {
    const added = refusals(project, ({ evidence: { catalog } }) => {
      catalog.out_of_paper = structuredClone(catalog.gone);
      catalog.gone.details.properties.since = { type: 'string' };
      catalog.budget_exceeded.details.properties.scope_kind.anyOf.push({ type: 'string', const: 'region' });
    });
    expect(added).toEqual([expect.stringContaining('contract/published.json is stale')]);
  });
});

describe('what is answered', () => {
  const described =
    (change: (openApi: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(evidence.openApi);
  const answer =
    (change: (answer: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(evidence.answers[unmatchedRoute]);
  const noCode = (code: string) => (operation: Draft) => {
    for (const response of Object.values<Draft>(operation.responses)) {
      response.content = JSON.parse(
        JSON.stringify(response.content ?? {}).replaceAll(`Error_${code}"`, 'Other"'),
      );
    }
  };
  refuses([
    [
      'the envelope loses its details',
      described(({ components }) => components.schemas.Error_gone.properties.error.required.pop()),
      'the description of Error_gone does not promise error.details. Promise: The error envelope is frozen',
    ],
    [
      'a part of the envelope changes its type',
      described(
        ({ components }) =>
          (components.schemas.Error_gone.properties.error.properties.message.type = 'array'),
      ),
      'the description of Error_gone does not promise error.message',
    ],
    [
      'a real answer has another envelope',
      answer((found) => (found.body = found.body.replace('"details"', '"context"'))),
      'the answer to an unmatched route has no error.details. Promise: The error envelope is frozen',
    ],
    [
      'an answer is no JSON',
      answer((found) => (found.body = 'Not Found')),
      'the answer to an unmatched route has no error.code',
    ],
    [
      'an unmatched route has another status',
      answer((found) => (found.status = 400)),
      'an unmatched route is not answered with 404 not_found. Promise: The routes of the contract',
    ],
    [
      'keys are sent some other way',
      described(({ components }) => (components.securitySchemes.key.scheme = 'basic')),
      'the API no longer takes bearer tokens. Promise: Calls carry Authorization: Bearer',
    ],
    [
      'a route no longer lists a failure of authentication',
      described(({ paths }) => noCode('key_expired')(paths['/v1/runs'].get)),
      'GET /v1/runs no longer lists the code key_expired. Promise: Calls carry Authorization: Bearer',
    ],
    [
      'a route that needs a scope no longer says so',
      described(({ paths }) => noCode('missing_scope')(paths['/v1/runs'].get)),
      'GET /v1/runs no longer lists the code missing_scope',
    ],
    [
      'what belongs to others is no longer hidden',
      described(({ paths }) => noCode('not_found')(paths['/v1/runs/{run_id}'].get)),
      'GET /v1/runs/{run_id} no longer lists the code not_found. Promise: Calls carry',
    ],
    [
      'a body may be too large without a name for it',
      described(({ paths }) => noCode('payload_too_large')(paths['/v1/runs'].post)),
      'POST /v1/runs takes a body and no longer lists the code payload_too_large',
    ],
    [
      'an idempotency key no longer conflicts',
      described(({ paths }) => noCode('idempotency_key_conflict')(paths['/v1/runs'].post)),
      'POST /v1/runs takes Idempotency-Key and no longer lists the code idempotency_key_conflict',
    ],
    [
      'a list can no longer be sorted',
      described(({ paths }) => {
        const { get } = paths['/v1/runs'];
        get.parameters = get.parameters.filter(({ name }: Draft) => name !== 'sort');
      }),
      'GET /v1/runs is a list and no longer takes ?sort=',
    ],
    [
      'a decision denies with another status',
      described(({ paths }) => {
        const { responses } = paths['/v1/edge/decision'].post;
        responses[403] = responses[402];
        delete responses[402];
      }),
      'POST /v1/edge/decision no longer answers budget_exceeded with 402. Promise: Codes are append-only',
    ],
    [
      'a plan can no longer block',
      described(({ paths }) => {
        const { overage_policy } =
          paths['/v1/admin/plans'].post.requestBody.content['application/json'].schema.properties;
        overage_policy.enum = ['allow', 'refuse'];
      }),
      'the field overage_policy lost its value block. Promise: A path, operation, field, enum value',
    ],
    [
      'a field of the contract is renamed',
      described(({ paths }) => {
        const { properties } =
          paths['/v1/admin/orgs/{org_id}/rate-limits'].put.requestBody.content['application/json'].schema;
        properties.reads_per_minute = properties.read_rpm;
        delete properties.read_rpm;
      }),
      'no request has the field read_rpm any more',
    ],
    [
      'idempotency keys are no longer taken',
      described(({ paths }) => {
        for (const operation of Object.values<Draft>(paths).flatMap((item) => Object.values<Draft>(item))) {
          operation.parameters = operation.parameters.filter(({ name }: Draft) => name !== 'Idempotency-Key');
        }
      }),
      'no operation takes the header Idempotency-Key any more. Promise: The headers of the contract',
    ],
    [
      'a refusal for its rate does not say when to come back',
      described(({ paths }) => delete paths['/v1/runs'].get.responses[429].headers['Retry-After']),
      'GET /v1/runs answers rate_limited without the header Retry-After. Promise: The headers of the contract',
    ],
    [
      'a trace id is no longer told',
      described(({ paths }) => delete paths['/v1/runs'].get.responses[500].headers['x-svc-trace-id']),
      'GET /v1/runs answers internal without the header x-svc-trace-id',
    ],
    [
      'a header changes its type',
      described(({ components }) => (components.headers.RetryAfter.schema.type = 'string')),
      'GET /v1/runs answers rate_limited without the header Retry-After',
    ],
    [
      'a list no longer refuses a bad sort by name',
      described(({ paths }) => noCode('validation_failed')(paths['/v1/runs'].get)),
      'GET /v1/runs takes ?sort= and no longer lists the code validation_failed. Promise: The routes of the contract',
    ],
    [
      'a route loses an answer of the contract',
      described(({ paths }) => delete paths['/v1/edge/decision'].post.responses[200]),
      'POST /v1/edge/decision no longer answers 200. Promise: The routes of the contract',
    ],
    [
      'a route loses a code of the contract',
      described(({ paths }) => noCode('quota_exhausted')(paths['/v1/edge/decision'].post)),
      'POST /v1/edge/decision no longer lists the code quota_exhausted. Promise: Codes are append-only',
    ],
  ]);
});

describe('what is there', () => {
  refuses([
    [
      'a route of the contract is not served',
      ({ evidence }) => delete evidence.openApi.paths['/v1/runs/bulk'],
      'POST /v1/runs/bulk is in the contract and is not served. Promise: The routes of the contract',
    ],
    [
      'the metrics page is gone',
      ({ evidence }) => (evidence.answers['GET /metrics'].status = 404),
      'GET /metrics is in the contract and is not served',
    ],
    [
      'a route that was served is put back on the list of those to come',
      (draft) => {
        delete draft.evidence.openApi.paths['/v1/runs/bulk'];
        draft.notServedYet.push('POST /v1/runs/bulk');
      },
      'POST /v1/runs/bulk was added to contract/not-served-yet.json. Promise: The list of what is not served yet only shrinks',
    ],
    [
      'a setting of the contract is renamed',
      ({ evidence }) => {
        const { settings } = evidence;
        settings.find(({ name }: Draft) => /TAKEOVER/.test(name)).name = 'SVC_TAKEOVER_SECS';
      },
      'the setting SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS was removed or renamed. Promise: A setting',
    ],
    [
      'the metric of deprecated routes has another label',
      ({ evidence }) =>
        (evidence.metrics.svc_deprecated_route_calls_total = { type: 'counter', labels: ['path'] }),
      'the metric svc_deprecated_route_calls_total is a counter with the labels path, not a counter with route',
    ],
    [
      'the metric of deprecated routes is gone',
      ({ evidence }) => delete evidence.metrics.svc_deprecated_route_calls_total,
      'svc_deprecated_route_calls_total is in the contract and is not served',
    ],
  ]);
});

describe('what recording the contract repairs is refused until then', () => {
  test.each<Case>([
    [
      'a route that is served stays on the list',
      (draft) => draft.notServedYet.push('POST /v1/runs/bulk'),
      'POST /v1/runs/bulk is served and still on contract/not-served-yet.json',
    ],
    [
      'something beyond the contract stands on the list',
      (draft) => draft.notServedYet.push('GET /v1/teapots'),
      'GET /v1/teapots is on contract/not-served-yet.json and not in the contract',
    ],
  ])('%s', (_title, tamper, refusal) => {
    expect(refusals(project, tamper)).toContainEqual(expect.stringContaining(refusal));
  });
});

describe('how deprecations are told', () => {
  const forecast = () => withForecast(project);
  const headers =
    (change: (headers: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(evidence.answers['GET /v1/forecast'].headers);
  const listing =
    (change: (schema: Draft, answer: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(
        evidence.openApi.paths['/v1/meta/deprecations'].get.responses[200].content['application/json'].schema,
        evidence.answers['GET /v1/meta/deprecations'],
      );

  test('a deprecated route as the contract wants it is in order', () => {
    expect(checkProject(forecast())).toEqual([]);
  });

  refuses(
    [
      [
        'Deprecation has another form',
        headers((found) => (found.deprecation = 'true')),
        'GET /v1/forecast answers with Deprecation: "true", not @{seconds}. Promise: Every response to a deprecated route',
      ],
      [
        'Deprecation is not midnight of the announcement',
        headers((found) => (found.deprecation = '@1784764800')),
        'GET /v1/forecast answers with Deprecation: "@1784764800"',
      ],
      [
        'Sunset is another date',
        headers((found) => (found.sunset = 'Wed, 31 Dec 2031 23:59:59 GMT')),
        'GET /v1/forecast answers with Sunset: "Wed, 31 Dec 2031 23:59:59 GMT"',
      ],
      [
        'Sunset is missing',
        headers((found) => delete found.sunset),
        'GET /v1/forecast answers with Sunset: ""',
      ],
      [
        'Link names no documentation',
        headers((found) => (found.link = found.link.replace('rel="deprecation"', 'rel="help"'))),
        'GET /v1/forecast answers with Link:',
      ],
      [
        'Link names no successor',
        headers((found) => (found.link = found.link.split(',')[0])),
        'GET /v1/forecast answers with Link:',
      ],
      [
        'OpenAPI does not mark the route',
        ({ evidence }) => delete evidence.openApi.paths['/v1/forecast'].get.deprecated,
        'GET /v1/forecast is deprecated and is not marked so in OpenAPI',
      ],
      [
        'OpenAPI marks a route that is not deprecated',
        ({ evidence }) => (evidence.openApi.paths['/v1/runs'].get.deprecated = true),
        'GET /v1/runs is marked deprecated in OpenAPI and is not in the registry',
      ],
      [
        'the listing is wrapped',
        listing((schema) => (schema.type = 'object')),
        'the listing of deprecations is no longer a bare array',
      ],
      [
        'an entry of the listing may lack its sunset',
        listing(({ items }) => items.required.splice(items.required.indexOf('sunset'), 1)),
        'an entry of the listing of deprecations may lack sunset',
      ],
      [
        'an entry of the listing has no replacement',
        listing(({ items }) => delete items.properties.replacement),
        'an entry of the listing of deprecations no longer has replacement',
      ],
      [
        'an entry of the listing tells another date',
        listing((_schema, found) => (found.body = found.body.replaceAll('2026-07-22', '2026-07-23'))),
        'the listing of deprecations: /v1/forecast: since is "2026-07-23"',
      ],
      [
        'an entry of the listing has a sunset that is no HTTP date',
        listing((_schema, found) => (found.body = found.body.replaceAll('Wed, 31 Dec', '31 Dec'))),
        'the listing of deprecations: /v1/forecast: sunset is "31 Dec 2036 23:59:59 GMT"',
      ],
      [
        'an entry of the listing names another successor',
        listing((_schema, found) => (found.body = found.body.replaceAll('/v1/capacity/forecasts', '/v1/f'))),
        'the listing of deprecations: /v1/forecast: replacement is "/v1/f"',
      ],
      [
        'an entry of the listing is documented elsewhere',
        listing((_schema, found) => (found.body = found.body.replaceAll('/docs/', '/help/'))),
        'the listing of deprecations: /v1/forecast: documentation is',
      ],
      [
        'a deprecated route is not listed',
        listing((_schema, found) => (found.body = '[]')),
        '/v1/forecast is deprecated and not in the listing',
      ],
    ],
    forecast,
  );
});

describe('how deliveries are signed', () => {
  const deliveries =
    (change: (deliveries: Draft) => void): Tamper =>
    ({ evidence }) =>
      change(evidence.deliveries);

  refuses([
    [
      'v1 has another form',
      deliveries(({ v1 }) => (v1['x-svc-signature'] = 'sha256=ab12')),
      'a v1 delivery is signed "sha256=ab12", not X-Svc-Signature: v1={signature}. Promise: Deliveries are signed',
    ],
    [
      'v2 lacks its time',
      deliveries(({ v2 }) => (v2['x-svc-signature'] = 'v1=ab12')),
      'a v2 delivery is signed "v1=ab12", not X-Svc-Signature: t={timestamp},v1={signature}',
    ],
    [
      'v1 does not tell of its sunset',
      deliveries(({ v1 }) => delete v1.sunset),
      'a v1 delivery lacks the header sunset',
    ],
    [
      'v2 tells of a sunset',
      deliveries(({ v2 }) => (v2.sunset = 'Fri, 31 Dec 2027 23:59:59 GMT')),
      'a v2 delivery carries the header sunset',
    ],
    [
      'v1 tells another sunset',
      deliveries(({ v1 }) => (v1.sunset = 'Thu, 31 Dec 2026 23:59:59 GMT')),
      'a v1 delivery carries Sunset: "Thu, 31 Dec 2026 23:59:59 GMT", not {sunset}',
    ],
    [
      'v1 tells its deprecation in another form',
      deliveries(({ v1 }) => (v1.deprecation = 'true')),
      'a v1 delivery carries Deprecation: "true", not @{seconds}',
    ],
    [
      'the version is not stamped on v2',
      deliveries(({ v2 }) => delete v2['x-svc-event-version']),
      'X-Svc-Event-Version is in the contract and is not served',
    ],
    [
      'the version is not stamped',
      deliveries(({ v1 }) => delete v1['x-svc-event-version']),
      'X-Svc-Event-Version is in the contract and is not served',
    ],
  ]);
});
