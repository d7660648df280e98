/** Statements over HTTP: upload, comparison, reconciliation. */
import { beforeEach, describe, expect, test } from 'vitest';
import { seededBytes, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import {
  anthropicPages,
  focusCsv,
  focusRow,
  openAiPages,
  openAiUsagePage,
} from '../../../../test/support/statement-files.ts';
import { tagBounds } from '../../../ledger/usage/usage-tags.ts';
import { createIds } from '../../../platform/ids.ts';
import { postDifferences, type ReconcileDependencies } from './reconcile.ts';
import { requireStatement } from './statements.ts';

const world = useWorld();
const org = useOrgPerTest(world);
let path: string;
beforeEach(() => {
  path = `/v1/orgs/${org.id}/statements`;
});

const send = (method: string, to: string, body?: unknown) =>
  world.request(method, to, { key: org.ownerKey, ...(body !== undefined && { body }) });

const day = '2026-11-10';
const model = 'gpt-4o-2024-08-06';

/** 2.5 dollars per million input tokens, 10 per million output tokens. */
function pages(
  usage: { key: string; input: number; output: number; day?: string; project?: string }[],
  on = day,
) {
  const input = usage.reduce((sum, one) => sum + one.input, 0);
  const output = usage.reduce((sum, one) => sum + one.output, 0);
  return openAiPages(
    [
      { day: on, item: `${model}, input`, usd: (input * 2.5) / 1e6 },
      { day: on, item: `${model}, output`, usd: (output * 10) / 1e6 },
    ],
    usage.map((one) => ({ day: on, model, ...one })),
  );
}

async function record(runs: object[]): Promise<void> {
  const answer = await send('POST', '/v1/runs/bulk?enforcement=record', {
    runs: runs.map((run) => ({
      model: 'gpt-4o',
      provider: 'openai',
      started_at: `${day}T08:00:00Z`,
      ...run,
    })),
  });
  expect(answer.status).toBe(201);
}

async function upload(body: object) {
  const answer = await send('POST', path, body);
  expect(answer.json).toMatchObject({ lines: expect.any(Number) });
  expect(answer.status).toBe(201);
  return answer.json;
}

const compare = async (id: string, query = '') =>
  (await send('GET', `${path}/${id}/comparison${query}`)).json;

const causesOf = (row: { causes: { cause: string; usd: string }[] }) =>
  row.causes.map(({ cause, usd }) => `${cause} ${usd}`);

interface LateRun {
  readonly admitted: string;
  readonly billedOn: string;
}

/** Records a run of a dollar that is charged on the day of its decision and billed a day later. */
async function recordLateRun(): Promise<LateRun> {
  const decision = { model: 'gpt-4o', provider: 'openai', estimated_cost_usd: '3', expires_in_seconds: 60 };
  const { json } = await send('POST', '/v1/edge/decision', decision);
  const admitted = world.clock.now().toISOString().slice(0, 10);
  world.clock.advanceSeconds(86_400);
  await world.runJob('expire-holds');
  const { decision_id } = json;
  const late = { model: 'gpt-4o', provider: 'openai', decision_id, input_tokens: 400_000, cost_usd: '1' };
  expect((await send('POST', '/v1/runs', late)).json.marks).toContain('late');
  return { admitted, billedOn: world.clock.now().toISOString().slice(0, 10) };
}

function latePages({ admitted, billedOn }: LateRun, usd = 1): object[] {
  return openAiPages(
    [
      { day: admitted, item: `${model}, input`, usd: 0 },
      { day: billedOn, item: `${model}, input`, usd },
    ],
    [{ day: billedOn, model, key: 'a', input: usd * 400_000, output: 0 }],
  );
}

/** A FOCUS file without tokens. */
const focusOf = (ProviderName: string) =>
  focusCsv([
    focusRow({
      ProviderName,
      ConsumedUnit: '',
      ChargePeriodStart: `${day}T00:00:00Z`,
      ChargePeriodEnd: '2026-11-11T00:00:00Z',
    }),
  ]);

async function expectBalanced(): Promise<void> {
  const { json } = await send('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
}

describe('an upload', () => {
  test('an uploaded statement is stored, listed, read and audited', async () => {
    const made = await upload({ pages: anthropicPages(day), drift_threshold_usd: '5' });
    expect(made).toMatchObject({
      provider: 'anthropic',
      period_start: day,
      period_end: '2026-11-11',
      lines: 6,
      billed_usd: '11.605',
      drift_threshold_usd: '5',
      reconciled_at: null,
    });
    expect((await send('GET', `${path}/${made.id}`)).json).toEqual(made);
    expect((await send('GET', path)).json).toEqual({ data: [made], next_cursor: null });
    expect((await send('GET', `${path}?provider=openai`)).json.data).toEqual([]);
    const audit = await send('GET', `/v1/orgs/${org.id}/audit-log?action=statements.create`);
    expect(audit.json.data).toMatchObject([{ target: { kind: 'statement', id: made.id } }]);
  });

  test('lists reports whose quantities are not compared, and compares their costs', async () => {
    const run = { provider: 'openai', started_at: `${day}T08:00:00Z` };
    await record([
      { ...run, model: 'dall-e-3', input_tokens: 40, cost_usd: '0.04' },
      { ...run, model: 'text-embedding-3-small', input_tokens: 1_000_000, cost_usd: '0.01' },
    ]);
    const made = await upload({
      pages: [
        ...openAiPages(
          [
            { day, item: 'dall-e-3, 1024x1024 standard', usd: 0.04 },
            { day, item: 'text-embedding-3-small, input', usd: 2.01 },
          ],
          [],
        ),
        openAiUsagePage(day, 'images', { images: 1, num_model_requests: 1, model: 'dall-e-3' }),
        openAiUsagePage(day, 'embeddings', { input_tokens: 1_000_000, model: 'text-embedding-3-small' }),
      ],
    });
    expect(made).toMatchObject({
      sources: ['openai_costs', 'openai_embeddings', 'openai_images'],
      not_compared: [{ source: 'openai_images', reason: expect.stringContaining('Images') }],
    });
    const { data } = await compare(made.id);
    expect(data.map((row: { model: string }) => row.model)).toEqual(['dall-e-3', 'text-embedding-3-small']);
    expect(data[0]).toMatchObject({ causes: [], billed: { usd: '0.04', input_tokens: null } });
    expect(causesOf(data[1])).toEqual(['price 2']);
  });

  test('accepts one page per line', async () => {
    const lines = pages([{ key: 'a', input: 1_000, output: 0 }]).map((page) => JSON.stringify(page));
    const answer = await world.request('POST', path, {
      key: org.ownerKey,
      raw: lines.join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
    expect(answer.status).toBe(201);
  });

  test('accepts a page, its data or a list of pages as the whole body', async () => {
    const [costs] = pages([{ key: 'a', input: 1_000, output: 0 }]) as { data: object[] }[];
    for (const body of [costs, { data: costs?.data }, costs?.data[0], [costs], costs?.data]) {
      const made = await upload(body as object);
      expect(made).toMatchObject({ lines: 2, billed_usd: '0.0025', sources: ['openai_costs'] });
      expect((await send('DELETE', `${path}/${made.id}`)).status).toBe(204);
    }
    const missing = await send('POST', path, { ...costs, has_more: true });
    expect(missing.json.error.details.fields[0].field).toBe('pages');
    const notAPage = await send('POST', path, []);
    expect(notAPage.json.error.details.fields[0].field).toBe('pages');
  });

  test('an upload of the same statement again is a conflict that names the first', async () => {
    const body = { pages: pages([{ key: 'a', input: 1_000, output: 0 }]) };
    const made = await upload(body);
    const again = await send('POST', path, { pages: body.pages.toReversed() });
    expect(again.json.error).toMatchObject({ code: 'conflict', message: expect.stringContaining(made.id) });
    const other = await world.createOrg();
    const elsewhere = { key: other.ownerKey, body };
    expect((await world.request('POST', `/v1/orgs/${other.id}/statements`, elsewhere)).status).toBe(201);
  });

  test('two uploads of one statement at the same time store it once', async () => {
    const body = { pages: pages([{ key: 'a', input: 1_000, output: 0 }]) };
    const answers = await Promise.all([1, 2, 3].map(() => send('POST', path, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test.each([
    ['neither pages nor a file', {}, 'pages'],
    ['no pages', { pages: [] }, 'pages'],
    ['a page of another schema', { pages: [{ object: 'list', data: [] }] }, 'pages[0]'],
    ['a CSV without columns', { csv: 'a,b\n1,2' }, 'csv[1]'],
    ['a dimension that does not exist', { csv: 'a', project_dimension: 'model); DROP' }, 'project_dimension'],
    ['an unknown field', { csv: 'a', currency: 'usd' }, 'currency'],
  ])('an upload with %s is rejected and stores nothing', async (_, body, field) => {
    const answer = await send('POST', path, body);
    expect(answer.json.error.details.fields[0].field).toBe(field);
    expect((await send('GET', path)).json.data).toEqual([]);
  });

  test('an upload that is malformed, wrong in its last line, incomplete or repeated changes nothing and says why', async () => {
    const body = { pages: pages([{ key: 'a', input: 1_000_000, output: 0 }]) };
    const { id } = await upload(body);
    await send('POST', `${path}/${id}/reconcile`);
    const stateOf = async () => [
      (await send('GET', path)).json,
      (await send('GET', `/v1/orgs/${org.id}/usage`)).json.total,
      (await send('GET', `/v1/orgs/${org.id}/audit-log?action=statements.create&outcome=success`)).json.data
        .length,
      await world.db.query(
        `SELECT (SELECT count(*) FROM statement_lines WHERE org_id = $1) AS lines,
                (SELECT count(*) FROM ledger_entries WHERE org_id = $1) AS entries`,
        [org.id],
      ),
    ];
    const before = await stateOf();
    const cells = ['1', 'USD', `${day}T00:00:00Z`, '2026-11-11T00:00:00Z', 'openai', 'gpt-4o'];
    const columns = [
      'BilledCost',
      'BillingCurrency',
      'ChargePeriodStart',
      'ChargePeriodEnd',
      'ProviderName',
      'SkuId',
    ];
    const good = Array.from({ length: 300 }, () => cells);
    const wrongAtTheEnd = focusCsv([...good, ['1', 'EUR', ...cells.slice(2)]], columns);
    const truncated = focusCsv(good, columns).slice(0, -3);
    const [costs, usage] = body.pages;
    const dayThatIsNone = JSON.stringify(body).replaceAll(
      /"start_time":\d+/g,
      '"start_time":"2026-02-30T00:00:00Z"',
    );
    const wrongPeriod = focusCsv([cells], columns).replace(/\d{4}-\d\d-\d\dT/, '2026-02-30T');
    const files: [string, Buffer | string, string, number, string][] = [
      ['malformed JSON', '{"pages": [', 'application/json', 422, 'body'],
      ['malformed lines', '{"object": "page"}\n{', 'application/x-ndjson', 422, 'pages[1]'],
      ['another schema', '{"invoices": []}', 'application/json', 422, 'invoices'],
      ['wrong last line', JSON.stringify({ csv: wrongAtTheEnd }), 'application/json', 422, 'csv[302]'],
      ['truncated', JSON.stringify({ csv: `${truncated}\r\n1` }), 'application/json', 422, 'csv[302]'],
      ['a day that does not exist', dayThatIsNone, 'application/json', 422, 'start_time'],
      [
        'a period that does not exist',
        JSON.stringify({ csv: wrongPeriod }),
        'application/json',
        422,
        'csv[2]',
      ],
      ['no costs', JSON.stringify({ pages: [usage] }), 'application/json', 422, 'pages'],
      [
        'not the last page',
        JSON.stringify({ pages: [{ ...costs, has_more: true }] }),
        'application/json',
        422,
        'pages',
      ],
      ['repeated', JSON.stringify(body), 'application/json', 409, id],
    ];
    for (const [what, raw, type, status, why] of files) {
      const answer = await world.request('POST', path, {
        key: org.ownerKey,
        raw,
        headers: { 'content-type': type },
      });
      expect([what, answer.status], answer.text).toEqual([what, status]);
      expect(answer.text, what).toContain(why);
      expect(await stateOf(), what).toEqual(before);
    }
  });

  test('an uploaded statement can be deleted with its lines, and uploaded again', async () => {
    const body = { pages: pages([{ key: 'a', input: 1_000, output: 0 }]) };
    const { id } = await upload(body);
    expect((await send('DELETE', `${path}/${id}`)).status).toBe(204);
    expect((await send('GET', `${path}/${id}/comparison`)).status).toBe(404);
    expect(await world.db.query('SELECT 1 AS one FROM statement_lines WHERE org_id = $1', [org.id])).toEqual(
      [],
    );
    await upload(body);
  });
});

describe('a comparison', () => {
  test('splits a difference by cause, and names the key of calls around Purser', async () => {
    await record([
      { input_tokens: 1_000_000, output_tokens: 100_000, cost_usd: '3.5' },
      { input_tokens: 1_000_000, output_tokens: 0, cost_usd: '2' },
    ]);
    const { id } = await upload({
      pages: pages([
        { key: 'key_gateway', input: 2_000_000, output: 100_000 },
        { key: 'key_other', input: 400_000, output: 0 },
      ]),
      gateway_key_ids: ['key_gateway'],
    });
    const { data, total } = await compare(id);
    expect(data).toMatchObject([
      {
        day,
        model,
        project: null,
        billed: { usd: '7', input_tokens: 2_400_000, output_tokens: 100_000 },
        recorded: { usd: '5.5', input_tokens: 2_000_000 },
        difference: { usd: '1.5', input_tokens: 400_000, output_tokens: 0 },
        causes: [
          { cause: 'missing', usd: '1', tokens: 400_000, provider_key_ids: ['key_other'] },
          { cause: 'price', usd: '0.5', tokens: 0, provider_key_ids: [] },
        ],
      },
    ]);
    expect(total).toMatchObject({
      billed_usd: '7',
      recorded_usd: '5.5',
      difference_usd: '1.5',
      causes: [
        { cause: 'missing', usd: '1', rows: 1 },
        { cause: 'price', usd: '0.5', rows: 1 },
      ],
    });
    expect((await compare(id, '?cause=late')).data).toEqual([]);
  });

  test('finds the one rate that is wrong, and corrects the cost of that kind', async () => {
    const claude = 'claude-sonnet-4-20250514';
    const rates = { input: '3', cached_input: '0.3', cache_write: '6', output: '15.01' };
    await world.request('PUT', `/v1/admin/models/${claude}`, {
      key: world.operatorKey,
      body: Object.fromEntries(
        Object.entries(rates).map(([name, rate]) => [`${name}_usd_per_million`, rate]),
      ),
    });
    const counts = { input_tokens: 1_700_000, cached_input_tokens: 500_000, cache_write_tokens: 200_000 };
    const now = world.clock.now().toISOString();
    const run = { model: claude, provider: 'anthropic', started_at: now, ...counts, output_tokens: 500_000 };
    await record([run]);
    const { id } = await upload({ pages: anthropicPages(now.slice(0, 10)) });
    const { data, total } = await compare(id, '?cause=price');
    expect(data).toMatchObject([
      { model: claude, causes: [{ cause: 'price', kind: 'cache_write', usd: '-0.45', tokens: 0 }] },
    ]);
    expect(total.causes).toContainEqual({
      cause: 'price',
      usd: '-0.45',
      rows: 1,
      kinds: [{ kind: 'cache_write', usd: '-0.45' }],
    });
    const writes = async () =>
      (await send('GET', `/v1/orgs/${org.id}/usage?kind=cache_write&model=${claude}`)).json.total;
    expect(await writes()).toMatchObject({ cost_usd: '1.2', quantity: 200_000 });
    expect((await send('POST', `${path}/${id}/reconcile`)).status).toBe(200);
    expect(await writes()).toMatchObject({ cost_usd: '0.75', quantity: 200_000 });
    expect((await compare(id)).data.flatMap(causesOf)).toEqual([]);
    await expectBalanced();
  });

  test('finds calls that were never settled', async () => {
    await send('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' });
    const today = world.clock.now().toISOString().slice(0, 10);
    const decision = { model: 'gpt-4o', provider: 'openai', estimated_cost_usd: '3', expires_in_seconds: 60 };
    expect((await send('POST', '/v1/edge/decision', decision)).status).toBe(200);
    world.clock.advanceSeconds(61);
    await world.runJob('expire-holds');
    const { id } = await upload({ pages: pages([{ key: 'key_gateway', input: 400_000, output: 0 }], today) });
    const { data } = await compare(id);
    expect(data.map(causesOf)).toEqual([['unsettled -2']]);
  });

  test('shows the days of the organization, and what only the time zone moves', async () => {
    await send('PATCH', `/v1/orgs/${org.id}`, { timezone: 'America/New_York' });
    // The tenth in UTC, the ninth in New York.
    const run = { input_tokens: 400_000, cost_usd: '1', started_at: `${day}T02:00:00Z` };
    await record([run]);
    const { id } = await upload({ pages: pages([{ key: 'a', input: 400_000, output: 0 }]) });
    const { data, timezone } = await compare(id);
    expect(timezone).toBe('America/New_York');
    expect(data.map(causesOf)).toEqual([['time_zone 1']]);
    expect(data[0]).toMatchObject({ billed: { usd: '1' }, recorded: { usd: '0' } });
  });

  test('finds runs that were settled late, on the day of the other', async () => {
    const { id } = await upload({ pages: latePages(await recordLateRun()) });
    const { data, total } = await compare(id);
    expect(data.map(causesOf)).toEqual([['late -1'], ['late 1']]);
    expect(total.difference_usd).toBe('0');
  });

  test('separates projects by a dimension of runs, and pages through the rows', async () => {
    await record([
      { input_tokens: 400_000, cost_usd: '1', tags: { project: 'proj_a' } },
      { input_tokens: 400_000, cost_usd: '2', tags: { project: 'proj_b' } },
    ]);
    const { id } = await upload({
      project_dimension: 'tag:project',
      pages: openAiPages(
        ['proj_a', 'proj_b'].map((project) => ({ day, item: `${model}, input`, project, usd: 1 })),
        ['proj_a', 'proj_b'].map((project) => ({ day, model, project, key: 'k', input: 400_000, output: 0 })),
      ),
    });
    const first = await compare(id, '?limit=1');
    expect(first.data).toMatchObject([{ project: 'proj_a', causes: [] }]);
    const second = await compare(id, `?limit=1&cursor=${first.next_cursor}`);
    expect(second.data).toMatchObject([{ project: 'proj_b', causes: [{ cause: 'price', usd: '-1' }] }]);
    expect(second.next_cursor).toBeNull();
    const last = await compare(id, '?limit=1&sort=-day');
    expect(last.data).toEqual(second.data);
    const before = await compare(id, `?limit=1&sort=-day&cursor=${last.next_cursor}`);
    expect(before.data).toEqual(first.data);
  });

  describe('of projects by a tag', () => {
    const projects = Array.from({ length: tagBounds.valuesPerName + 1 }, (_, index) => `proj_${index}`);
    const otherSets = Array.from({ length: tagBounds.setsPerDay + 1 }, (_, index) => ({
      b: `${index % 50}`,
      c: `${Math.floor(index / 50)}`,
    }));
    const names = Array.from({ length: tagBounds.namesPerDay }, (_, index) => `a${index}`);
    const ofProjects = (billed: readonly string[]) => ({
      project_dimension: 'tag:project',
      pages: openAiPages(
        billed.map((project) => ({ day, item: `${model}, input`, project, usd: 1 })),
        billed.map((project) => ({ day, model, project, key: 'k', input: 400_000, output: 0 })),
      ),
    });
    const recordTagged = async (tags: readonly object[], cost_usd = '1', input_tokens = 400_000) => {
      for (let at = 0; at < tags.length; at += 500) {
        await record(tags.slice(at, at + 500).map((one) => ({ tags: one, cost_usd, input_tokens })));
      }
    };

    test.each(['UTC', 'America/New_York'])(
      'the comparison of projects by a tag is exact beyond the values that usage keeps apart (%s)',
      async (timezone) => {
        await send('PATCH', `/v1/orgs/${org.id}`, { timezone });
        await recordTagged(projects.map((project) => ({ project })));
        const { id } = await upload(ofProjects(projects));
        expect((await compare(id)).total).toMatchObject({ difference_usd: '0', causes: [] });
      },
    );

    test('the comparison of projects by a tag is exact beyond the sets of tags that usage keeps apart', async () => {
      await recordTagged(otherSets, '0', 0);
      await recordTagged([{ project: 'proj_a' }]);
      const { id } = await upload(ofProjects(['proj_a']));
      expect((await compare(id)).total).toMatchObject({ difference_usd: '0', causes: [] });
    });

    test('the comparison of projects by a tag is exact beyond the names of tags that usage keeps', async () => {
      await recordTagged([Object.fromEntries(names.map((name) => [name, 'x']))], '0', 0);
      await recordTagged([{ project: 'proj_a' }]);
      const { id } = await upload(ofProjects(['proj_a']));
      expect((await compare(id)).total).toMatchObject({ difference_usd: '0', causes: [] });
    });

    test('the comparison of projects by a tag is rejected once the runs of such a day were deleted', async () => {
      await recordTagged(projects.map((project) => ({ project })));
      const { id } = await upload(ofProjects(projects));
      await world.db.query(
        `INSERT INTO closed_balances (org_id, source, bucket, usd_nanos, tokens, requests, uncovered_nanos)
         VALUES ($1, 'runs', $2, 1, 1, 1, 0)`,
        [org.id, new Date(`${day}T08:00:00Z`)],
      );
      for (const [method, to] of [
        ['GET', 'comparison'],
        ['POST', 'reconcile'],
      ] as const) {
        const answer = await send(method, `${path}/${id}/${to}`);
        expect(answer.json.error).toMatchObject({
          code: 'validation_failed',
          details: { fields: [{ field: 'project_dimension', message: expect.stringContaining(day) }] },
        });
      }
      await world.runJob('compare-statements');
      expect((await send('GET', `${path}/${id}`)).json).toMatchObject({
        compared_at: expect.any(String),
        difference_usd: null,
      });
    });
  });

  test('leaves out runs of other providers, and includes unbilled ones of its own', async () => {
    await record([
      { input_tokens: 400_000, cost_usd: '1', provider: 'azure' },
      { input_tokens: 400_000, cost_usd: '4', model: 'o3' },
      { input_tokens: 400_000, cost_usd: '1' },
    ]);
    const { id } = await upload({ pages: pages([{ key: 'a', input: 400_000, output: 0 }]) });
    const { data } = await compare(id);
    expect(data.map((row: never) => [(row as { model: string }).model, ...causesOf(row)])).toEqual([
      [model],
      ['o3', 'unknown -4'],
    ]);
  });

  test.each([
    ['Microsoft', 'azure_openai', 'azure'],
    ['AWS', 'aws', 'bedrock'],
    ['Google Cloud', 'google', 'Vertex_AI'],
  ])('a comparison of FOCUS finds the runs of %s', async (ProviderName, label, provider) => {
    await record([
      { input_tokens: 1, cost_usd: '1', provider },
      { input_tokens: 1, cost_usd: '0.25', provider: label },
    ]);
    const { id } = await upload({ csv: focusOf(ProviderName) });
    expect((await compare(id)).data.map(causesOf)).toEqual([[]]);
    expect((await send('POST', `${path}/${id}/reconcile`)).json).toMatchObject({
      provider: label,
      reconciled_runs: 0,
    });
  });

  test('a comparison of FOCUS without tokens compares amounts', async () => {
    await record([{ input_tokens: 400_000, cost_usd: '1' }]);
    const csv = focusCsv(
      [['3.5', 'USD', `${day}T00:00:00Z`, '2026-11-11T00:00:00Z', 'OpenAI', 'gpt-4o']],
      ['BilledCost', 'BillingCurrency', 'ChargePeriodStart', 'ChargePeriodEnd', 'ProviderName', 'SkuId'],
    );
    const { id } = await upload({ csv });
    const { data } = await compare(id);
    expect(data).toMatchObject([
      { billed: { usd: '3.5', input_tokens: null }, recorded: { input_tokens: 400_000 } },
    ]);
    expect(data.map(causesOf)).toEqual([['unknown 2.5']]);
  });
});

describe('a reconciliation', () => {
  const usage = [
    { key: 'key_gateway', input: 2_000_000, output: 100_000 },
    { key: 'key_other', input: 400_000, output: 0 },
  ];

  test('posts every difference once, so that the ledger equals the statement', async () => {
    await record([
      { input_tokens: 1_000_000, output_tokens: 100_000, cost_usd: '9.123456789' },
      { input_tokens: 1_000_000, output_tokens: 0, cost_usd: '2' },
    ]);
    const { id } = await upload({ pages: pages(usage), gateway_key_ids: ['key_gateway'] });
    const done = await send('POST', `${path}/${id}/reconcile`);
    expect(done.status).toBe(200);
    expect(done.json).toMatchObject({ reconciled_runs: 2, reconciled_usd: '-4.123456789' });
    const { total, data } = await compare(id);
    expect(total).toEqual({ billed_usd: '7', recorded_usd: '7', difference_usd: '0', causes: [] });
    expect(data[0]).toMatchObject({ difference: { usd: '0', input_tokens: 0, output_tokens: 0 } });
    const { json: used } = await send('GET', `/v1/orgs/${org.id}/usage`);
    expect(used.total.cost_usd).toBe('7');
    await expectBalanced();

    expect((await send('POST', `${path}/${id}/reconcile`)).json).toEqual(done.json);
    expect((await send('GET', '/v1/runs')).json.data).toHaveLength(4);
    const { json: runs } = await send('GET', '/v1/runs?mark=backfill');
    const posted = runs.data.filter(
      (run: { metadata: { statement_id?: string } }) => run.metadata.statement_id === id,
    );
    expect(
      posted.map((run: { cost_usd: string; metadata: object; input_tokens: number }) => [
        run.cost_usd,
        run.input_tokens,
        run.metadata,
      ]),
    ).toEqual(
      expect.arrayContaining([
        [
          '1',
          400_000,
          { statement_id: id, cause: 'missing', provider_key_ids: ['key_other'], billed_model: model },
        ],
        ['-5.123456789', 0, { statement_id: id, cause: 'price', provider_key_ids: [], billed_model: model }],
      ]),
    );
    const deleted = await send('DELETE', `${path}/${id}`);
    expect(deleted.json.error.code).toBe('conflict');
    const audit = await send('GET', `/v1/orgs/${org.id}/audit-log?action=statements.reconcile`);
    expect(audit.json.data).toHaveLength(1);
  });

  test('started several times at once posts each difference once', async () => {
    const { id } = await upload({ pages: pages(usage) });
    const answers = await Promise.all([1, 2, 3].map(() => send('POST', `${path}/${id}/reconcile`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await send('GET', '/v1/runs')).json.data).toHaveLength(1);
    expect((await send('GET', `${path}/${id}`)).json).toMatchObject({
      reconciled_runs: 1,
      reconciled_usd: '7',
    });
    await expectBalanced();
  });

  let seed = 77;
  const dependencies = (): ReconcileDependencies => ({
    db: world.db,
    ids: createIds(world.clock, seededBytes(seed++)),
    ledger: world.services.ledger,
  });
  const calledNow = () => ({ keyId: 'key_test', now: world.clock.now() });

  test('corrects late runs once, also if it is repeated before it is finished', async () => {
    const late = await recordLateRun();
    const { id } = await upload({ pages: latePages(late) });
    const row = await requireStatement(world.db, org.id, id);
    await postDifferences(dependencies(), row, calledNow());
    await postDifferences(dependencies(), row, calledNow());
    expect((await send('POST', `${path}/${id}/reconcile`)).json).toMatchObject({
      reconciled_runs: 2,
      reconciled_usd: '0',
    });
    expect((await compare(id)).data.map(causesOf)).toEqual([[], []]);
    const newer = await upload({ pages: latePages(late, 1.5) });
    expect((await compare(newer.id)).data.map(causesOf)).toEqual([[], ['missing 0.5']]);
    await expectBalanced();
  });

  test('compares again if another one has posted since its comparison', async () => {
    await record([{ input_tokens: 400_000, cost_usd: '2' }]);
    const { id } = await upload({ pages: pages([{ key: 'a', input: 400_000, output: 0 }]) });
    const row = await requireStatement(world.db, org.id, id);
    let isOutdated = false;
    const overtaken: ReconcileDependencies = {
      ...dependencies(),
      ledger: {
        async post(group) {
          if (!isOutdated) {
            isOutdated = true;
            // The other one finds more tokens than billed, and another cause.
            await record([{ input_tokens: 400_000, cost_usd: '0' }]);
            await postDifferences(dependencies(), row, calledNow());
          }
          return world.services.ledger.post(group);
        },
      },
    };
    await postDifferences(overtaken, row, calledNow());
    expect((await send('GET', `${path}/${id}`)).json).toMatchObject({
      reconciled_runs: 1,
      reconciled_usd: '-1',
    });
    expect((await compare(id)).total.difference_usd).toBe('0');
  });

  test('a reconciliation of a provider without runs is a conflict if runs of its models have another one', async () => {
    await record([{ input_tokens: 1, cost_usd: '1.25', provider: 'litellm' }]);
    const { id } = await upload({ csv: focusOf('Reseller') });
    expect((await compare(id)).data.map(causesOf)).toEqual([['missing 1.25']]);
    const answer = await send('POST', `${path}/${id}/reconcile`);
    expect(answer.json.error).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('litellm'),
    });
    expect((await send('GET', '/v1/runs')).json.data).toHaveLength(1);
    await record([{ input_tokens: 1, cost_usd: '1', provider: 'reseller' }]);
    expect((await send('POST', `${path}/${id}/reconcile`)).json).toMatchObject({ reconciled_usd: '0.25' });
  });

  test('a reconciliation that was interrupted posts the rest', async () => {
    const models = Array.from({ length: 210 }, (_, index) => `model-${index}`);
    const { id } = await upload({
      pages: openAiPages(
        models.map((one) => ({ day, item: `${one}, input`, usd: 1 })),
        models.map((one) => ({ day, model: one, key: 'a', input: 400_000, output: 0 })),
      ),
    });
    const row = await requireStatement(world.db, org.id, id);
    let groups = 0;
    const interrupted: ReconcileDependencies = {
      ...dependencies(),
      ledger: {
        post(group) {
          groups += 1;
          return groups > 1 ? Promise.reject(new Error('interrupted')) : world.services.ledger.post(group);
        },
      },
    };
    await expect(postDifferences(interrupted, row, calledNow())).rejects.toThrow('interrupted');
    expect((await send('GET', `${path}/${id}`)).json).toMatchObject({
      reconciled_at: null,
      reconciled_runs: 200,
    });
    expect((await send('DELETE', `${path}/${id}`)).json.error.code).toBe('conflict');
    expect((await send('POST', `${path}/${id}/reconcile`)).json).toMatchObject({
      reconciled_runs: 210,
      reconciled_usd: '210',
    });
    expect((await compare(id)).total.difference_usd).toBe('0');
    await expectBalanced();
  });
});

describe('the event `statement.drift`', () => {
  const drifts = () =>
    world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'statement.drift'`,
      [org.id],
    );

  test('is written once if the difference reaches the threshold', async () => {
    const { id } = await upload({ pages: pages([{ key: 'a', input: 400_000, output: 0 }]) });
    await world.runJob('compare-statements');
    await world.runJob('compare-statements');
    expect(await drifts()).toMatchObject([
      { data: { statement_id: id, difference_usd: '1', drift_usd: '1' } },
    ]);
    expect((await send('GET', `${path}/${id}`)).json).toMatchObject({ difference_usd: '1', drift_usd: '1' });
  });

  test('is not written below it', async () => {
    await upload({ pages: pages([{ key: 'a', input: 400_000, output: 0 }]), drift_threshold_usd: '1.01' });
    await world.runJob('compare-statements');
    expect(await drifts()).toEqual([]);
  });
});

test('another organization does not see a statement', async () => {
  const { id } = await upload({ pages: pages([{ key: 'a', input: 1, output: 0 }]) });
  const other = await world.createOrg();
  for (const [method, to] of [
    ['GET', `/v1/orgs/${other.id}/statements/${id}`],
    ['GET', `/v1/orgs/${other.id}/statements/${id}/comparison`],
    ['POST', `/v1/orgs/${other.id}/statements/${id}/reconcile`],
    ['DELETE', `/v1/orgs/${other.id}/statements/${id}`],
  ] as const) {
    expect((await world.request(method, to, { key: other.ownerKey })).status).toBe(404);
  }
});

test('compares and reconciles days on which the recorded cost exceeds 64 bits', async () => {
  const cost_usd = '8999999999';
  for (const [team, hour] of [
    ['web', '08'],
    ['app', '10'],
  ]) {
    await record([{ cost_usd, team, input_tokens: 1, started_at: `${day}T${hour}:00:00Z` }]);
  }
  const { id } = await upload({ pages: pages([{ key: 'k', input: 2, output: 0 }]) });
  const { status, json } = await send('GET', `${path}/${id}/comparison`);
  expect(status).toBe(200);
  expect(json.total).toMatchObject({ recorded_usd: '17999999998' });
  await world.runJob('compare-statements');
  expect((await send('GET', `${path}/${id}`)).json).toMatchObject({
    difference_usd: '-8999999999.999999999',
  });
  const reconciled = await send('POST', `${path}/${id}/reconcile`);
  expect([reconciled.status, reconciled.json.error?.code]).toEqual([409, 'conflict']);
});

test('rejects a statement whose total exceeds the largest amount', async () => {
  const rows = ['gpt-4o', 'gpt-4o-mini'].map((item) => ({ day, item: `${item}, input`, usd: 5_000_000_000 }));
  const { status, json } = await send('POST', path, { pages: openAiPages(rows, []) });
  expect([status, json.error.details.fields]).toMatchObject([422, [{ code: 'out_of_range' }]]);
});
