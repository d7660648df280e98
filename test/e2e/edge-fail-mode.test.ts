/** Responses of the edge while its database is unavailable, for each fail mode that an operator can choose. */
import { describe, expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { createWorld, type TestAnswer, type World } from '../harness.ts';

/** Makes the ledger fail like an unavailable database. Returns a function that restores it. */
function cut(world: World): () => void {
  const { ledger } = world.services;
  const hold = ledger.hold.bind(ledger);
  const decide = ledger.decide.bind(ledger);
  ledger.hold = () => Promise.reject(new DatabaseUnavailable('cut'));
  ledger.decide = () => undefined;
  return () => {
    ledger.hold = hold;
    ledger.decide = decide;
  };
}

async function orgWithCap(world: World) {
  const org = await world.createOrg();
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body: { cap_usd: '1' } });
  const ask = (usd: string, headers: Record<string, string> = {}) =>
    world.request('POST', '/v1/edge/decision', {
      key: org.ownerKey,
      body: { model: 'm', estimated_cost_usd: usd },
      headers,
    });
  return { org, ask };
}

describe('while the ledger is unavailable', () => {
  test('the edge refuses by default, and never allows', async () => {
    const world = await createWorld();
    const { ask } = await orgWithCap(world);
    const mend = cut(world);
    const answer = await ask('0.1');
    expect(answer.status).toBe(503);
    expect(answer.json.error.code).toBe('service_unavailable');
    mend();
    expect((await ask('0.1')).status).toBe(200);
    await world.close();
  });

  test('with SVC_EDGE_FAIL_MODE=open it allows, says so, and counts it as soon as it can', async () => {
    const world = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
    const { org, ask } = await orgWithCap(world);
    const mend = cut(world);
    const given = await ask('0.7');
    const beyond = await ask('0.7');
    for (const answer of [given, beyond]) {
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({
        decision: 'allow',
        degraded: true,
        held_usd: '0.7',
        limits: [],
        not_checked: ['policies', 'safety', 'plan', 'chain', 'credits'],
      });
    }
    mend();
    await world.runJob('import-fail-open-decisions');
    const refused = await ask('0.000000001');
    expect(refused.json.error).toMatchObject({
      code: 'spend_cap_exceeded',
      details: { spent_usd: '1.4', held_usd: '1.4' },
    });
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.2', decision_id: given.json.decision_id },
    });
    expect(run.json.marks).toEqual(['degraded']);
    await world.request('DELETE', `/v1/orgs/${org.id}/holds/${beyond.json.decision_id}`, {
      key: org.ownerKey,
    });
    expect((await ask('0.8')).status).toBe(200);
    await world.close();
  });

  test('an Idempotency-Key gives the same degraded decision, now, once it is counted, and after its run', async () => {
    const world = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
    const { org, ask } = await orgWithCap(world);
    const headers = { 'idempotency-key': 'degraded' };
    const replayOf = ({ status, text, headers: given }: TestAnswer) => [
      status,
      text,
      given['idempotent-replayed'],
    ];
    const mend = cut(world);
    const many = await Promise.all([ask('0.7', headers), ask('0.7', headers), ask('0.7', headers)]);
    const [given] = many.filter((answer) => answer.headers['idempotent-replayed'] === undefined);
    expect(given?.json).toMatchObject({ decision: 'allow', degraded: true });
    const replayed = [200, given?.text, 'true'];
    expect(new Set(many.map(({ text }) => text)).size).toBe(1);
    const conflict = async () => (await ask('0.6', headers)).json.error?.code;
    expect(await conflict()).toBe('idempotency_key_conflict');
    mend();
    expect(replayOf(await ask('0.7', headers))).toEqual(replayed);
    await world.runJob('import-fail-open-decisions');
    expect(replayOf(await ask('0.7', headers))).toEqual(replayed);
    expect(await conflict()).toBe('idempotency_key_conflict');
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.2', decision_id: given?.json.decision_id },
    });
    expect(run.json.marks).toEqual(['degraded']);
    expect(replayOf(await ask('0.7', headers))).toEqual(replayed);
    expect(await conflict()).toBe('idempotency_key_conflict');
    expect((await ask('0.8')).status).toBe(200);
    await world.close();
  });

  test('a run settles such a decision at once, also before it was counted', async () => {
    const world = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
    const { org, ask } = await orgWithCap(world);
    const mend = cut(world);
    const given = await ask('0.7');
    mend();
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.2', decision_id: given.json.decision_id },
    });
    expect(run.status).toBe(201);
    expect(run.json.marks).toEqual(['degraded']);
    await world.close();
  });

  test('a decision without an estimate is refused as usual, one with tokens is priced', async () => {
    const world = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
    const { org } = await orgWithCap(world);
    const decide = (body: object) =>
      world.request('POST', '/v1/edge/decision', { key: org.ownerKey, body: { model: 'gpt-4o', ...body } });
    const priced = (await decide({ input_tokens: 1_000, max_output_tokens: 1_000 })).json;
    const mend = cut(world);
    for (const body of [{}, { input_tokens: 1_000 }, { max_output_tokens: 1_000 }]) {
      const answer = await decide(body);
      expect([answer.status, answer.json.error.details.fields]).toMatchObject([
        422,
        [{ field: 'estimated_cost_usd', code: 'required' }],
      ]);
    }
    const given = (await decide({ input_tokens: 1_000, max_output_tokens: 1_000 })).json;
    expect(given).toMatchObject({ degraded: true, held_usd: priced.held_usd, max_output_tokens: 1_000 });
    expect(Number(given.held_usd)).toBeGreaterThan(0);
    mend();
    await world.close();
  });

  test('the import is in the audit log of the org, and an event', async () => {
    const world = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
    const { org, ask } = await orgWithCap(world);
    const mend = cut(world);
    await ask('0.7');
    await ask('0.6');
    mend();
    await world.runJob('import-fail-open-decisions');
    const path = `/v1/orgs/${org.id}/audit-log?action=edge.import_decisions`;
    const { json } = await world.request('GET', path, { key: org.ownerKey });
    expect(json.data).toMatchObject([
      { actor: { kind: 'service', id: 'edge' }, after: { decisions: 2, held_usd: '1.3', reduced: 0 } },
    ]);
    const events = await world.db.query(
      `SELECT data->>'decisions' AS decisions FROM outbox WHERE tenant_id = $1 AND type = 'edge.decisions_imported'`,
      [org.id],
    );
    expect(events).toEqual([{ decisions: '2' }]);
    await world.close();
  });
});
