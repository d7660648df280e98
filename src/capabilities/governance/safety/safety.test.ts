import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { type TestAnswer, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { builtIns } from './built-in.ts';
import { sampleCharactersMax } from './sample.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const call = (method: string, path: string, body?: unknown, key = org.ownerKey) =>
  world.request(method, `/v1/orgs/${org.id}/safety-detectors${path}`, {
    key,
    ...(body !== undefined && { body }),
  });
const create = (body: object) => call('POST', '', body);
const enable = async (id: string, action: 'block' | 'flag', more: object = {}) =>
  expect((await call('PATCH', `/${id}`, { enabled: true, action, ...more })).status).toBe(200);
const run = (content: string, more: object = {}) =>
  world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: 'm', cost_usd: '1', content, ...more },
  });
const bulk = (runs: readonly object[], query = '') =>
  world.request('POST', `/v1/runs/bulk${query}`, {
    key: org.ownerKey,
    body: { runs: runs.map((one) => ({ model: 'm', cost_usd: '1', ...one })) },
  });
const decide = () =>
  world.request('POST', '/v1/edge/decision', {
    key: org.ownerKey,
    body: { model: 'm', estimated_cost_usd: '1' },
  });
const posted = async () => (await world.request('GET', '/v1/runs', { key: org.ownerKey })).json.data.length;
const fields = ({ json }: TestAnswer) =>
  json.error.details.fields.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

const card = '4242 4242 4242 4242';
const words = { name: 'projects', kind: 'words', words: ['Project Heron'], action: 'block' };
const regex = { name: 'tickets', kind: 'regex', pattern: 'SEC-[0-9]{4}', action: 'flag' };

describe('built-in detectors', () => {
  test('built-in detectors are listed as disabled, and can be changed but not deleted or renamed', async () => {
    const { json } = await call('GET', '');
    expect(json.data.map(({ id }: { id: string }) => id)).toEqual(builtIns.map(({ id }) => id).sort());
    for (const one of json.data) {
      expect(one).toMatchObject({ kind: 'built_in', enabled: false, action: 'flag', threshold: 1 });
    }
    const changed = await call('PATCH', '/iban', { enabled: true, action: 'block', threshold: 2 });
    expect(changed.json).toMatchObject({ id: 'iban', enabled: true, action: 'block', threshold: 2 });
    expect((await call('GET', '/iban')).json).toEqual(changed.json);
    expect((await call('DELETE', '/iban')).json.error.code).toBe('conflict');
    expect(fields(await call('PATCH', '/iban', { name: 'x', words: ['y'] }))).toEqual([
      'name invalid_value',
      'words invalid_value',
    ]);
  });

  test('do nothing while they are disabled', async () => {
    expect((await run(`pay with ${card}`)).json).toMatchObject({ marks: [], flagged_by: [] });
    expect((await decide()).json.not_checked).toEqual([]);
  });
});

describe('custom detectors', () => {
  test('custom detectors can be created, read, listed, changed and deleted; every change is audited', async () => {
    const made = await create({ ...words, threshold: 2 });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ ...words, threshold: 2, enabled: true, pattern: null });
    const { id } = made.json;
    const changed = await call('PATCH', `/${id}`, { words: ['Heron', 'Egret'], action: 'flag' });
    expect(changed.json).toMatchObject({ words: ['Heron', 'Egret'], action: 'flag', threshold: 2 });
    const own = await call('GET', '?kind=words&enabled=true&action=flag');
    expect(own.json).toEqual({ data: [changed.json], next_cursor: null });
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
    expect((await call('GET', `/${id}`)).status).toBe(404);
    const audited = await world.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE tenant_id = $1 AND target_kind = 'safety_detector' ORDER BY seq`,
      [org.id],
    );
    expect(audited.map(({ action }) => action)).toEqual([
      'safety_detectors.create',
      'safety_detectors.change',
      'safety_detectors.delete',
    ]);
  });

  test('custom detectors are listed in pages by name', async () => {
    await create({ ...words, name: 'aaa' });
    await create({ ...words, name: 'zzz' });
    const names: string[] = [];
    let cursor = '';
    do {
      const { json } = await call('GET', `?sort=-name&limit=4${cursor}`);
      names.push(...json.data.map(({ name }: { name: string }) => name));
      cursor = json.next_cursor === null ? '' : `&cursor=${json.next_cursor}`;
    } while (cursor !== '');
    expect(names).toEqual(['aaa', 'zzz', ...builtIns.map(({ id }) => id)].sort().reverse());
  });

  test.each([
    ['a kind without what it needs', { ...words, words: undefined }, 'words required'],
    ['a kind with what is not its own', { ...words, pattern: 'x' }, 'pattern invalid_value'],
    ['a word without letters', { ...words, words: ['ok', '--'] }, 'words[1] invalid_value'],
    ['no words', { ...words, words: [] }, 'words empty'],
    ['a pattern that matches nothing', { ...regex, pattern: 'a*' }, 'pattern invalid_value'],
    ['a pattern that is too long', { ...regex, pattern: 'a'.repeat(501) }, 'pattern out_of_range'],
    [
      'a pattern that compiles into too much',
      { ...regex, pattern: '(?:[a-z]{9}){99}' },
      'pattern out_of_range',
    ],
    ['look-ahead', { ...regex, pattern: 'a(?=b)' }, 'pattern invalid_format'],
    ['a threshold of zero', { ...regex, threshold: 0 }, 'threshold out_of_range'],
  ])('rejects %s', async (_, body, finding) => {
    expect(fields(await create(body))).toEqual([finding]);
  });

  test.each([
    ['ab(cd', 3],
    ['ab)', 3],
    ['[(]x(', 5],
    ['foo**', 4],
    ['ok[z-a]', 4],
    ['a\\1', 2],
  ])('rejects the pattern %s at position %i', async (pattern, position) => {
    const { json } = await create({ ...regex, pattern });
    expect(json.error.details.fields[0].message).toMatch(new RegExp(`^At position ${position}: `));
  });

  test('custom detectors have unique names that differ from those of built-in detectors', async () => {
    expect((await create(words)).status).toBe(201);
    expect((await create(words)).json.error.code).toBe('conflict');
    expect((await create({ ...words, name: 'email' })).json.error.code).toBe('conflict');
  });

  test('custom detectors are limited in number', async () => {
    for (let i = 0; i < 20; i += 1) {
      expect((await create({ ...regex, name: `regex ${i}` })).status).toBe(201);
    }
    expect((await create({ ...regex, name: 'one more' })).json.error.code).toBe('conflict');
    expect((await create(words)).status).toBe(201);
  });

  test('custom detectors of another org are not found, and do not check its runs', async () => {
    const { json } = await create(words);
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}/safety-detectors/${json.id}`;
    for (const [method, body] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const) {
      const answer = await world.request(method, path, { key: other.ownerKey, ...(body && { body }) });
      expect([answer.status, answer.json.error.code]).toEqual([404, 'not_found']);
    }
    const posted = await world.request('POST', '/v1/runs', {
      key: other.ownerKey,
      body: { model: 'm', cost_usd: '1', content: 'project heron' },
    });
    expect(posted.status).toBe(201);
    expect((await run('project heron')).status).toBe(403);
  });
});

describe('a detector that blocks', () => {
  test('denies the run with its name and a sample, and nothing is counted', async () => {
    await enable('credit_card', 'block');
    const answer = await run(`please charge ${card} today`);
    expect(answer.status).toBe(403);
    expect(answer.json.error).toMatchObject({
      code: 'content_safety_blocked',
      details: { detector: 'credit_card', detector_id: 'credit_card', sample: card },
    });
    expect(answer.json.error.details).not.toHaveProperty('run_index');
    expect(await posted()).toBe(0);
    const running = await run(card, { status: 'running', cost_usd: undefined, estimated_cost_usd: '1' });
    expect(running.status).toBe(403);
    const holds = await world.request('GET', `/v1/orgs/${org.id}/holds`, { key: org.ownerKey });
    expect(holds.json.data).toEqual([]);
  });

  test('a detector that blocks is checked before the limits, and rate limits are given back', async () => {
    await enable('credit_card', 'block');
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body: { cap_usd: '0' } });
    expect((await run(card)).json.error.code).toBe('content_safety_blocked');
    expect((await run('nothing')).json.error.code).toBe('spend_cap_exceeded');
    await world.request('DELETE', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey });
    const policy = { name: 'one', match: { model: 'm' }, unit: 'requests', limit: 1, window_seconds: 3_600 };
    const limited = await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: { policies: [{ ...policy, kind: 'rate' }] },
    });
    expect(limited.status).toBe(200);
    expect((await run(card)).status).toBe(403);
    expect((await run('nothing')).status).toBe(201);
    expect((await run('nothing')).json.error.code).toBe('rate_limited');
  });

  test('returns the index of the run in a bulk request, and none is posted', async () => {
    const { json } = await create(words);
    const answer = await bulk([
      { content: 'fine' },
      {},
      { content: 'about PROJECT-heron' },
      { content: card },
    ]);
    expect(answer.status).toBe(403);
    expect(answer.json.error.details).toEqual({
      detector: 'projects',
      detector_id: json.id,
      sample: 'PROJECT-heron',
      run_index: 2,
    });
    expect(await posted()).toBe(0);
  });

  test('only flags runs that settle a decision and backfilled runs', async () => {
    await enable('credit_card', 'block');
    const { decision_id } = (await decide()).json;
    const settled = await run(card, { decision_id });
    expect(settled.status).toBe(201);
    expect(settled.json).toMatchObject({ marks: ['flagged'], flagged_by: ['credit_card'] });
    const recorded = await bulk(
      [{ content: card, started_at: '2026-11-01T00:00:00Z' }],
      '?enforcement=record',
    );
    expect(recorded.status).toBe(201);
    const list = await world.request('GET', '/v1/runs?flagged_by=credit_card', { key: org.ownerKey });
    expect(list.json.data.map(({ marks }: { marks: string[] }) => marks)).toEqual([
      ['flagged'],
      ['backfill', 'flagged'],
    ]);
  });

  test('a detector that blocks applies from the next run on, and no longer after it is disabled', async () => {
    await enable('email', 'block');
    expect((await run('write to ann@example.com')).status).toBe(403);
    await call('PATCH', '/email', { enabled: false });
    expect((await run('write to ann@example.com')).status).toBe(201);
  });

  test('runs before detectors that flag', async () => {
    await enable('api_key', 'flag');
    await enable('email', 'block');
    const key = ['ghp', 'q7Zt3LmXv9Rk2Wd8Fs6Hj4Np1Bc5Gy0TaUeKi'].join('_');
    expect((await run(`${key} of ann@example.com`)).json.error.details.detector).toBe('email');
  });
});

describe('a detector that flags', () => {
  test('marks the run with its name, also a run that is completed later', async () => {
    await enable('credit_card', 'flag');
    await create(regex);
    const started = await run(`SEC-1234: ${card}`, {
      status: 'running',
      cost_usd: undefined,
      estimated_cost_usd: '1',
    });
    expect(started.json).toMatchObject({ marks: ['flagged'], flagged_by: ['credit_card', 'tickets'] });
    const ended = await world.request('POST', `/v1/runs/${started.json.id}/complete`, {
      key: org.ownerKey,
      body: { cost_usd: '3' },
    });
    expect(ended.json).toMatchObject({
      marks: ['over_hold', 'flagged'],
      flagged_by: ['credit_card', 'tickets'],
    });
    await run('nothing to see');
    const list = async (query: string) =>
      (await world.request('GET', `/v1/runs?${query}`, { key: org.ownerKey })).json.data.map(
        ({ id }: { id: string }) => id,
      );
    expect(await list('flagged=true')).toEqual([started.json.id]);
    expect(await list('flagged=false')).toHaveLength(1);
    expect(await list('flagged_by=tickets')).toEqual([started.json.id]);
    expect(await list('flagged_by=email')).toEqual([]);
  });

  test('fires at its threshold and not below', async () => {
    await enable('email', 'flag', { threshold: 3 });
    expect((await run('a@example.com b@example.com')).json.flagged_by).toEqual([]);
    expect((await run('a@example.com b@example.com c@example.com')).json.flagged_by).toEqual(['email']);
  });

  test('marks only the matching runs of a bulk request', async () => {
    await create(regex);
    await bulk([
      { content: 'SEC-0001', external_id: 'a' },
      { content: 'SEC', external_id: 'b' },
    ]);
    const list = await world.request('GET', '/v1/runs?flagged=true', { key: org.ownerKey });
    expect(list.json.data.map(({ external_id }: { external_id: string }) => external_id)).toEqual(['a']);
  });
});

test('a sample is limited in length, and never split inside a character', async () => {
  await create({ ...regex, name: 'long', pattern: 'x[^y]+', action: 'block' });
  const { sample } = (await run(`x${'🦩'.repeat(500)}`)).json.error.details;
  expect(sample.length).toBeLessThanOrEqual(sampleCharactersMax);
  expect(sample).toBe(`x${'🦩'.repeat((sampleCharactersMax - 2) / 2)}`);
});

test('inspected content is in no table and no log line, with or without an idempotency key', async () => {
  const marker = 'unmistakable-quagga-7719';
  await create({ ...words, words: ['flamingo'], action: 'flag' });
  await enable('email', 'block');
  const post = (content: string, headers: Record<string, string>) =>
    world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      headers,
      body: { model: 'm', cost_usd: '1', content },
    });
  const kept = await post(`flamingo ${marker}`, { 'idempotency-key': 'quagga' });
  expect(kept.json).toMatchObject({ flagged_by: ['projects'], content: null });
  expect((await post(`${marker}@example.com`, { 'idempotency-key': 'quagga 2' })).text).toContain(marker);
  expect((await call('POST', '/test', { content: `${marker}@example.com` })).text).toContain(marker);
  const tested = () =>
    world.request('POST', `/v1/orgs/${org.id}/safety-detectors/test`, {
      key: org.ownerKey,
      headers: { 'idempotency-key': 'quagga 3' },
      body: { content: `${marker}@example.com` },
    });
  const { text } = await tested();
  expect(text).toContain(marker);
  expect((await tested()).text).toBe(text);
  await world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: 'm', status: 'running', estimated_cost_usd: '1', content: marker },
  });

  expect(world.logLines.join('\n')).not.toContain(marker);
  const tables = await world.db.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const rows = await world.db.query(`SELECT 1 AS one FROM ${name} t WHERE t::text LIKE $1`, [
      `%${marker}%`,
    ]);
    expect([name, rows.length]).toEqual([name, 0]);
  }
});

test('the edge lists safety in `not_checked` as soon as a detector is enabled', async () => {
  expect((await decide()).json.not_checked).toEqual([]);
  await enable('iban', 'flag');
  expect((await decide()).json.not_checked).toEqual(['safety']);
  const { json } = await create(words);
  await call('PATCH', '/iban', { enabled: false });
  expect((await decide()).json.not_checked).toEqual(['safety']);
  await call('DELETE', `/${json.id}`);
  expect((await decide()).json.not_checked).toEqual([]);
});

test('a dry run returns the matches of all detectors, including disabled ones, and the verdict', async () => {
  await create(regex);
  const content = `SEC-0001 and SEC-0002, ${card}`;
  const { json } = await call('POST', '/test', { content });
  expect(json).toMatchObject({ verdict: 'flag', content_characters: content.length });
  const [cards, tickets] = json.findings;
  expect(json.findings).toHaveLength(2);
  expect(cards).toMatchObject({ detector: 'credit_card', enabled: false, fires: true });
  expect(tickets.matches).toEqual([
    { start: 0, end: 8, sample: 'SEC-0001' },
    { start: 13, end: 21, sample: 'SEC-0002' },
  ]);
  await enable('credit_card', 'block');
  expect((await call('POST', '/test', { content })).json.verdict).toBe('block');
  const chosen = await call('POST', '/test', { content, detectors: ['email'] });
  expect(chosen.json).toMatchObject({ verdict: 'pass', findings: [] });
  expect(fields(await call('POST', '/test', { content, detectors: ['email', 'nobody'] }))).toEqual([
    'detectors[1] invalid_value',
  ]);
});

describe('hostile patterns and contents', () => {
  test.each(['(a+)+$', '(a|aa)+$', '(?:a?){50}a{50}b', '(?i)(a|b){0,90}[xyz]', '(x+x+)+y'])(
    '%s looks at no more of a content than its size allows',
    async (pattern) => {
      const { status, json } = await create({ ...regex, pattern, action: 'block' });
      expect(status).toBe(201);
      // The engine takes linear time: at most as many steps per character as the program has instructions.
      expect(json.looks_at_characters).toBeGreaterThan(0);
      expect(json.looks_at_characters * RE2JS.compile(pattern).programSize()).toBeLessThanOrEqual(1_500_000);
      // A backtracking engine would not finish.
      expect((await run(`${'a'.repeat(json.looks_at_characters)}!`)).status).toBeLessThan(500);
    },
  );

  test('unicode: case, full-width letters, and scripts without blanks', async () => {
    await create({ ...words, words: ['Straße Nord', '机密', 'ΣΊΣΥΦΟΣ'] });
    for (const content of [
      'die STRASSE nord'.replace('SS', 'ß'),
      '这是机密文件',
      'ο σίσυφος',
      'ｓtraße nord',
    ]) {
      expect([content, (await run(content)).status]).toEqual([content, 403]);
    }
    expect((await run('die Straßen Nordens, 机关 密封')).status).toBe(201);
  });
});
