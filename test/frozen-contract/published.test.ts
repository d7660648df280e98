/** The published contract compared with what is served now, and the changes that the recording command rejects. */
import { beforeAll, describe, expect, test } from 'vitest';
import { currentOf, type Project } from '../../scripts/contract/project.ts';
import { record } from '../../scripts/contract/published.ts';
import { isSoak } from '../support/rounds.ts';
import { type Draft, intactProject, published, refusals, shared, type Tamper, tampered } from './intact.ts';

let project: Project;
beforeAll(async () => {
  project = withEvent(await intactProject());
});

/** Adds an event type, so that there is certainly one. */
function withEvent(intact: Project): Project {
  return published(
    tampered(intact, ({ evidence: { openApi } }) => {
      const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } };
      const parameters = [{ name: 'X-Steam', in: 'header', schema: { type: 'string' } }];
      const post = {
        parameters,
        requestBody: { content: { 'application/json': { schema } } },
        responses: {},
      };
      openApi.webhooks = { ...openApi.webhooks, 'teapot.boiled': { post } };
    }),
  );
}

function asVersion(version: string, tamper: Tamper = () => undefined): Project {
  return published(
    tampered(project, (draft) => {
      draft.packageVersion = version;
      draft.releases[0].version = version;
      draft.changelog = draft.changelog.replace('0.1.0 (', `${version} (`);
      tamper(draft);
    }),
  );
}

const openApi =
  (change: (document: Draft) => void): Tamper =>
  ({ evidence }) =>
    change(evidence.openApi);
const dropCode = (code: string) => (response: Draft) => {
  response.content = JSON.parse(JSON.stringify(response.content).replace(`Error_${code}"`, 'Other"'));
};

const breaks: readonly (readonly [title: string, tamper: Tamper, refusal: string])[] = [
  [
    'a path is removed',
    openApi(({ paths }) => delete paths['/v1/orgs/{id}/usage']),
    'GET /v1/orgs/{id}/usage was removed or renamed. Promise: A path, operation, field, enum value or parameter of /v1 is never removed within /v1',
  ],
  [
    'an operation is removed',
    openApi(({ paths }) => delete paths['/v1/orgs/{id}/budgets'].post),
    'POST /v1/orgs/{id}/budgets was removed or renamed',
  ],
  [
    'an operation is renamed',
    openApi(({ paths }) => (paths['/v1/runs'].get.operationId = 'runs.all')),
    'GET /v1/runs: the operation runs.list was renamed to runs.all',
  ],
  [
    'a higher role is needed',
    ({ evidence }) => (evidence.access['GET /v1/runs'].role = 'admin'),
    'GET /v1/runs: who may call it was narrowed from',
  ],
  [
    'another scope is needed',
    ({ evidence }) => (evidence.access['GET /v1/runs'].scope = 'audit:read'),
    'GET /v1/runs: who may call it was narrowed from',
  ],
  [
    'a parameter is removed',
    openApi(({ paths }) => {
      const { get } = paths['/v1/runs'];
      get.parameters = get.parameters.filter(({ name }: Draft) => name !== 'customer_id');
    }),
    'GET /v1/runs: the parameter "query customer_id" was removed or renamed. Promise: A path, operation',
  ],
  [
    'a parameter becomes required',
    openApi(({ paths }) => (paths['/v1/runs'].get.parameters[0].required = true)),
    'GET /v1/runs: the parameter "query limit" became required. Promise: A change that would break /v1',
  ],
  [
    'a required parameter is added',
    openApi(({ paths }) =>
      paths['/v1/runs'].get.parameters.push({
        name: 'why',
        in: 'query',
        required: true,
        schema: { type: 'string' },
      }),
    ),
    'GET /v1/runs: the parameter "query why" became required',
  ],
  [
    'a parameter is narrowed',
    openApi(({ paths }) => (paths['/v1/runs'].get.parameters[0].schema.maximum = 100)),
    'the parameter "query limit" of GET /v1/runs: maximum was tightened from 200 to 100',
  ],
  [
    'a body becomes required',
    openApi(({ paths }) => {
      paths['/v1/admin/orgs/{org_id}/reinstate'].post.requestBody = {
        required: true,
        content: { 'application/json': { schema: { type: 'object' } } },
      };
    }),
    'POST /v1/admin/orgs/{org_id}/reinstate: a body became required',
  ],
  [
    'a kind of body is no longer taken',
    openApi(({ paths }) => delete paths['/v1/runs/bulk'].post.requestBody.content['application/x-ndjson']),
    'POST /v1/runs/bulk: no longer takes a body of application/x-ndjson',
  ],
  [
    'a field of a body becomes required',
    openApi(({ paths }) =>
      paths['/v1/runs'].post.requestBody.content['application/json'].schema.required.push('team'),
    ),
    'team in the application/json body of POST /v1/runs: the field became required. Promise: A change that would break /v1',
  ],
  [
    'a status is removed',
    openApi(({ paths }) => delete paths['/v1/runs'].post.responses[402]),
    'POST /v1/runs: the status 402 was removed. Promise: Codes are append-only',
  ],
  [
    'a code of an operation is removed',
    openApi(({ paths }) => dropCode('credits_exhausted')(paths['/v1/runs'].post.responses[402])),
    'POST /v1/runs: the code credits_exhausted was removed from its status 402',
  ],
  [
    'a header of an answer is removed',
    openApi(({ paths }) => delete paths['/v1/runs'].post.responses[201].headers['Idempotent-Replayed']),
    'POST /v1/runs: the header Idempotent-Replayed was removed from its answer 201',
  ],
  [
    'an answer is no longer JSON',
    openApi(({ paths }) => {
      const response = paths['/v1/runs'].get.responses[200];
      response.content = { 'text/csv': { schema: {} } };
    }),
    'GET /v1/runs: its answer 200 is no longer application/json',
  ],
  [
    'a field of an answer is removed',
    openApi(({ paths }) => {
      const { schema } = paths['/v1/runs'].get.responses[200].content['application/json'];
      delete schema.properties.data.items.properties.cost_usd;
    }),
    'data[].cost_usd in the answer 200 of GET /v1/runs: the field was removed or renamed. Promise: A path, operation, field',
  ],
  [
    'a field behind a reference is removed',
    openApi(({ paths, components }) => {
      const content = paths['/v1/runs/{run_id}'].get.responses[200].content['application/json'];
      components.schemas.Run = { ...content.schema, properties: { id: { type: 'string' } } };
      content.schema = { $ref: '#/components/schemas/Run' };
    }),
    'cost_usd in the answer 200 of GET /v1/runs/{run_id}: the field was removed or renamed',
  ],
  [
    'a kind of event is removed',
    openApi(({ webhooks }) => delete webhooks['teapot.boiled']),
    'the event teapot.boiled was removed or renamed',
  ],
  [
    'a header of an event is removed',
    openApi(({ webhooks }) => (webhooks['teapot.boiled'].post.parameters = [])),
    'the event teapot.boiled is delivered without the header X-Steam. Promise: Deliveries are signed',
  ],
  [
    'a field of an event is removed',
    openApi(({ webhooks }) => {
      webhooks['teapot.boiled'].post.requestBody.content['application/json'].schema.properties = {};
    }),
    'id in the event teapot.boiled: the field was removed or renamed',
  ],
  [
    'a code beyond the contract is removed',
    ({ evidence }) => delete evidence.catalog.out_of_paper,
    'the code out_of_paper was removed or renamed. Promise: Codes are append-only',
  ],
  [
    'its status is removed',
    ({ evidence }) => (evidence.catalog.out_of_paper.statuses = [409]),
    'the code out_of_paper no longer has the status 410',
  ],
  [
    'a field of its details is removed',
    ({ evidence }) => delete evidence.catalog.out_of_paper.details.properties.tray,
    'tray in the details of out_of_paper: the field was removed or renamed',
  ],
  [
    'a scope is removed',
    ({ evidence }) => evidence.scopes.splice(evidence.scopes.indexOf('runs:backfill'), 1),
    'the scope runs:backfill was removed or renamed',
  ],
  ['a role is removed', ({ evidence }) => evidence.roles.shift(), 'the role viewer was removed or renamed'],
  [
    'a metric is removed',
    ({ evidence }) => delete evidence.metrics.svc_open_holds,
    'the metric svc_open_holds was removed or renamed. Promise: A metric that operators watch',
  ],
  [
    'a metric changes its type',
    ({ evidence }) => (evidence.metrics.svc_open_holds.type = 'counter'),
    'the metric svc_open_holds became a counter; it was a gauge',
  ],
  [
    'a metric loses a label',
    ({ evidence }) => (evidence.metrics.svc_database_connections.labels = []),
    'the metric svc_database_connections lost its label state',
  ],
];

/**
 * Adds a code that only the baseline contains, because another rule rejects changes to the codes of the contract too.
 */
const withCode: Tamper = ({ evidence: { catalog } }) => {
  catalog.out_of_paper = {
    statuses: [410],
    details: { type: 'object', properties: { tray: { type: 'string' } } },
  };
};

/** Recording compares with the same code as the check, so `npm test` needs only a few cases of every kind. */
const breaksToRecord = isSoak ? breaks : breaks.filter((_, index) => index % 5 === 0);

describe('what is taken away is refused', () => {
  const recorded = shared(() => asVersion('0.1.0', withCode));
  test.each(breaks)('%s', (_title, tamper, refusal) => {
    expect(refusals(recorded(), tamper)).toContainEqual(expect.stringContaining(refusal));
  });

  const frozen = shared(() => asVersion('1.0.0', withCode));
  test.each(breaksToRecord)('from 1.0.0 on no removal can be recorded: %s', (_title, tamper, refusal) => {
    const outcome = record(frozen().publishedText, currentOf(tampered(frozen(), tamper)));
    expect(outcome).toEqual({ refusals: expect.arrayContaining([expect.stringContaining(refusal)]) });
  });
});

describe('what was released', () => {
  /** 0.1.0 is released, and 0.2.0 is being made. */
  const released = shared(() => {
    const first = asVersion('0.1.0', (draft) => {
      withCode(draft);
      draft.releases[0].date = '2026-11-16';
      draft.changelog = draft.changelog.replace('0.1.0 (unreleased)', '0.1.0 (2026-11-16)');
    });
    const next = tampered(first, (draft) => {
      draft.today = '2026-12-01';
      draft.packageVersion = '0.2.0';
      draft.releases.push({
        version: '0.2.0',
        date: 'unreleased',
        deprecated: [],
        removed: [],
        successions: [],
        operatorActions: [],
      });
      draft.changelog = draft.changelog.replace('\n## ', '\n## 0.2.0 (unreleased)\n\n## ');
    });
    return { ...published(next), releasedText: first.publishedText };
  });
  const recordOf = (subject: Project) =>
    record(subject.publishedText, currentOf(subject), subject.releasedText);

  test('a released contract is served by the next version, with additions', () => {
    expect(refusals(released(), () => undefined)).toEqual([]);
  });

  test.each(breaksToRecord)(
    'a released contract is not taken away by recording it again: %s',
    (_title, tamper, refusal) => {
      const subject = tampered(released(), tamper);
      const sentence = expect.stringContaining(`Released in 0.1.0: ${refusal}`);
      expect(recordOf(subject)).toEqual({ refusals: expect.arrayContaining([sentence]) });
      // Also if the recorded baseline was made to agree.
      const { releasedText } = subject;
      expect(refusals({ ...published(subject), releasedText }, () => undefined)).toContainEqual(sentence);
    },
  );

  test('does not include what was only recorded since, which can still change', () => {
    const addition = openApi(({ paths }) => {
      paths['/v1/teapots'] = { get: { ...paths['/v1/models'].get, operationId: 'teapots.list' } };
    });
    const { releasedText } = released();
    const grown = { ...published(tampered(released(), addition)), releasedText };
    const outcome = recordOf(
      tampered(
        grown,
        openApi(({ paths }) => delete paths['/v1/teapots']),
      ),
    );
    expect(outcome).toEqual({ text: expect.any(String) });
  });

  test.each([
    ['missing', ''],
    ['edited by hand', '{}'],
  ])('a released contract cannot be checked with a baseline that is %s', (_title, releasedText) => {
    expect(refusals({ ...released(), releasedText }, () => undefined)).toEqual([
      expect.stringContaining('contract/released.json is not the baseline of 0.1.0'),
    ]);
  });
});

describe('recording', () => {
  const removal: Tamper = openApi(({ paths }) => delete paths['/v1/orgs/{id}/usage']);
  const recorded = (subject: Project, tamper: Tamper) =>
    record(subject.publishedText, currentOf(tampered(subject, tamper)));

  test('what is only added makes the baseline stale until it is recorded, also after 1.0.0', () => {
    const addition: Tamper = openApi(({ paths }) => {
      paths['/v1/teapots'] = { get: { ...paths['/v1/models'].get, operationId: 'teapots.list' } };
    });
    const frozen = asVersion('1.2.0');
    expect(refusals(frozen, addition)).toEqual([
      expect.stringContaining('contract/published.json is stale: run `npm run contract:record`'),
    ]);
    const outcome = recorded(frozen, addition) as { text: string };
    expect(
      refusals(frozen, (draft) => {
        addition(draft);
        draft.publishedText = outcome.text;
      }),
    ).toEqual([]);
  });

  test('a role that is no higher, or none at all, narrows nothing', () => {
    const opened = refusals(project, ({ evidence: { access } }) => {
      access['POST /v1/runs'].role = 'viewer';
      access['GET /v1/runs'] = { kind: 'public' };
    });
    expect(opened).toEqual([expect.stringContaining('contract/published.json is stale')]);
  });

  test('before 1.0.0 a removal can be recorded', () => {
    expect(recorded(asVersion('0.9.0'), removal)).toEqual({ text: expect.any(String) });
  });

  test('going back to a version before 1.0.0 thaws nothing', () => {
    const outcome = recorded(asVersion('1.0.0'), (draft) => {
      draft.packageVersion = '0.9.0';
      removal(draft);
    });
    expect(outcome).toEqual({
      refusals: [
        expect.stringContaining('the version went back from 1.0.0 to 0.9.0'),
        expect.stringContaining('GET /v1/orgs/{id}/usage was removed or renamed'),
      ],
    });
  });

  test('a shortened notice is never recorded, whatever the version', () => {
    const outcome = recorded(project, (draft) => {
      draft.releases[0].deprecated.at(-1).sunset = 'Thu, 31 Dec 2035 23:59:59 GMT';
    });
    expect(outcome).toEqual({
      refusals: [expect.stringContaining('its sunset moved earlier, from Wed, 31 Dec 2036 23:59:59 GMT')],
    });
  });

  test('the list of what is not served yet never grows by recording', () => {
    const outcome = recorded(project, (draft) => draft.notServedYet.push('POST /v1/runs/bulk'));
    expect(outcome).toEqual({
      refusals: [expect.stringContaining('POST /v1/runs/bulk was added to contract/not-served-yet.json')],
    });
  });

  test('a setting that a release carried is not recorded away; one that none did is', () => {
    const dropHost: Tamper = ({ evidence }) => {
      evidence.settings = evidence.settings.filter(({ name }: Draft) => name !== 'SVC_HOST');
    };
    const released = asVersion('0.1.0', (draft) => (draft.releases[0].date = '2026-12-01'));
    expect(recorded(released, dropHost)).toEqual({
      refusals: [expect.stringContaining('the setting SVC_HOST was removed or renamed without a removal')],
    });
    expect(recorded(project, dropHost)).toEqual({ text: expect.any(String) });
  });

  test('a setting keeps the version in which it was recorded first', () => {
    const outcome = recorded(project, (draft) => {
      draft.packageVersion = '0.2.0';
      draft.evidence.settings.push({ name: 'SVC_TEAPOT' });
    }) as { text: string };
    const { settings } = JSON.parse(outcome.text);
    expect([settings.SVC_HOST, settings.SVC_TEAPOT]).toEqual(['0.1.0', '0.2.0']);
  });

  test.each([
    ['edited by hand', (text: string) => text.replace('"runs.list"', '"runs.all"')],
    ['missing', () => ''],
  ])('a baseline that is %s is refused, and not recorded over', (_title, edit) => {
    const edited = { ...project, publishedText: edit(project.publishedText) };
    const refusal = expect.stringContaining('contract/published.json is missing or was edited by hand');
    expect(refusals(edited, () => undefined)).toEqual([refusal]);
    expect(recorded(edited, () => undefined)).toEqual({ refusals: [refusal] });
  });
});
