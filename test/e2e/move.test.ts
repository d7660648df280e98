/** Moving an embedded installation to PostgreSQL: data, open holds, idempotency keys and secrets; interrupted and continued. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { endAllProcesses, runPurser, spawnPurser } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { copyLight } from '../support/light-template.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import { scratch } from '../support/scratch.ts';
import { operatorKey, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

let dataDir = '';
let target: Place;
afterEach(async () => {
  await endAllProcesses();
  rmSync(dataDir, { recursive: true, force: true });
  await target?.remove();
});

// Needs both engines; the project for PostgreSQL has them.
describe.runIf(engine === 'postgres')('purser move', () => {
  test('the PostgreSQL service continues where the embedded one stopped', async () => {
    dataDir = mkdtempSync(join(scratch, 'purser-move-'));
    copyLight(inject('embeddedTemplate'), join(dataDir, 'database'));
    const embedded = { SVC_PORT: '0', SVC_DATA_DIR: dataDir, SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey };
    target = await makePlace({ migrated: false });
    const url = target.databaseUrl as string;
    const onPostgres = { ...settingsOf(target), SVC_DATA_DIR: dataDir };

    const before = await startPurser(embedded);
    const org = await createSpendingOrg(before);
    const old = spending(before, org);
    await old.cap('1');
    const body = { estimated_cost_usd: '0.25', workflow: 'w' };
    const kept = await old.decide(body, 'kept');
    const settled = await old.decide(body, 'settled');
    const run = { workflow: 'w', cost_usd: '0.2', input_tokens: 1, output_tokens: 1 };
    await old.run({ ...run, decision_id: settled.json.decision_id, external_id: 'mine' }, 'run');
    const subscription = await old.send('POST', `/v1/orgs/${org.id}/webhooks`, {
      url: 'https://example.com/',
      events: ['*'],
    });
    const signing = `/v1/orgs/${org.id}/webhooks/${subscription.json.id}/signing`;
    await old.send('POST', `${signing}/rotate`, {});
    const fingerprint = (await old.send('GET', signing)).json.fingerprint;
    expect((await runPurser(['move', '--to', url], embedded)).stderr).toMatch(
      /in use by another Purser process/,
    );
    await before.end('SIGTERM');

    // Killed as soon as something is in the target. Whatever was loaded by then, the next attempt continues.
    const killed = spawnPurser(['move', '--to', url], embedded);
    await eventually(async () => {
      const db = await openPlace(target);
      const [row] = await db
        .query<{ found: string | null }>(`SELECT to_regclass('transfer_progress')::text AS found`, [])
        .finally(() => db.close());
      expect(row?.found).not.toBeNull();
    });
    await killed.end('SIGKILL');
    await expect(startPurser(embedded)).rejects.toThrow(/is being moved to PostgreSQL/);
    await expect(startPurser(onPostgres)).rejects.toThrow(/unfinished restore or move/);
    const moved = await runPurser(['move', '--to', url], embedded);
    expect(moved.code, moved.stderr).toBe(0);
    expect(moved.stdout).toMatch(/continued .*1 organization, .* 1 open hold, no drift/s);
    await expect(startPurser(embedded)).rejects.toThrow(/was moved to PostgreSQL/);
    expect((await runPurser(['move', '--to', url], embedded)).stderr).toMatch(/already moved/);

    const after = await startPurser(onPostgres);
    const now = spending(after, org);
    const [hold] = await now.holds();
    expect(hold).toMatchObject({
      decision_id: kept.json.decision_id,
      held_usd: '0.25',
      expires_at: kept.json.expires_at,
    });
    expect((await now.holds()).length).toBe(1);
    expect((await now.decide(body, 'kept')).text).toBe(kept.text);
    expect((await now.decide(body, 'settled')).text).toBe(settled.text);
    expect((await now.send('GET', signing)).json.fingerprint).toBe(fingerprint);
    // Of the cap of 1, 0.2 is spent and 0.25 held.
    expect((await now.decide({ estimated_cost_usd: '0.56' })).code).toBe('spend_cap_exceeded');
    expect((await now.decide({ estimated_cost_usd: '0.55' })).status).toBe(200);
    const late = await now.run({ ...run, decision_id: kept.json.decision_id });
    expect(late.status, late.text).toBe(201);
    expect((await now.reconcile()).balanced).toBe(true);

    await after.end('SIGTERM');
    expect((await runPurser(['move', '--undo'], embedded)).stdout).toMatch(/can be started again/);
    const again = await startPurser(embedded);
    expect((await spending(again, org).holds()).map(({ decision_id }) => decision_id)).toEqual([
      kept.json.decision_id,
    ]);
  });

  test('refuses a target that is not empty, and leaves the data directory as it was', async () => {
    dataDir = mkdtempSync(join(scratch, 'purser-move-'));
    copyLight(inject('embeddedTemplate'), join(dataDir, 'database'));
    target = await makePlace({ migrated: true });
    const embedded = { SVC_PORT: '0', SVC_DATA_DIR: dataDir, SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey };
    const { code, stderr } = await runPurser(['move', '--to', target.databaseUrl as string], embedded);
    expect(code).toBe(1);
    expect(stderr).toMatch(/the target is not empty/);
    await (await startPurser(embedded)).end('SIGTERM');
  });
});
