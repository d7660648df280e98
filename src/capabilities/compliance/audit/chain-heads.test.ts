/** Tampering is detected by the authenticated head of a chain, without a kept checkpoint. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { createLog } from '../../../platform/log.ts';
import { openChainHeads } from './chain-heads.ts';
import { checkExport } from './export-check.ts';

const world = useWorld();
const org = useOrgPerTest(world);
beforeEach(async () => {
  for (let n = 0; n < 4; n += 1) {
    await change(`Name ${n}`);
  }
});

const change = (name: string) =>
  world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { name } });
const send = (method: string, path: string) =>
  world.request(method, `/v1/orgs/${org.id}/audit-log${path}`, { key: org.ownerKey });
const sql = (text: string, ...params: unknown[]) => world.db.query(text, [org.id, ...params]);

async function findings(): Promise<string[]> {
  const { json } = await send('GET', '/verify');
  expect(json.valid).toBe(json.findings.length === 0);
  return json.findings.map(({ kind, seq }: { kind: string; seq: number }) => `${kind} ${seq}`);
}

/** Removes the entries after `behind`, and moves the head of the chain back to that entry. */
async function cutOff(behind: number): Promise<void> {
  await sql('DELETE FROM audit_log WHERE tenant_id = $1 AND seq > $2', behind);
  await sql(
    `UPDATE audit_chains c SET seq = l.seq, hash = l.hash, at = l.at FROM audit_log l
      WHERE c.tenant_id = $1 AND l.tenant_id = $1 AND l.seq = $2`,
    behind,
  );
}

test('detects a removed tail whose chain row was removed too, also after later entries', async () => {
  expect(await findings()).toEqual([]);
  await cutOff(4);
  expect(await findings()).toEqual(['head_invalid 4']);
  await change('Later');
  await change('Later still');
  expect(await findings()).toEqual(['head_invalid 6']);
});

test.each([
  ['removed', 'NULL'],
  ['made up', `decode(repeat('00', 32), 'hex')`],
  ['too short', `decode('00', 'hex')`],
  ["another org's", `(SELECT mac FROM audit_chains WHERE tenant_id = 'platform')`],
])('detects a head whose authentication is %s', async (_, mac) => {
  await sql(`UPDATE audit_chains SET mac = ${mac} WHERE tenant_id = $1`);
  expect(await findings()).toEqual(['head_invalid 6']);
});

test('does not sign a checkpoint or an export of a head that is not authentic', async () => {
  await cutOff(4);
  expect((await send('GET', '/verify')).json.head.token).toBe('');
  expect((await send('POST', '/checkpoints')).status).toBe(409);
  const { text } = await send(
    'GET',
    '/export?from=2026-11-01T00:00:00Z&to=2026-11-30T00:00:00Z&checkpoints=true',
  );
  const lines = async function* () {
    yield* text.trimEnd().split('\n');
  };
  const { entries, isSealed, remarks } = await checkExport(lines(), {});
  expect([entries, isSealed]).toEqual([4, false]);
  expect(remarks[0]).toContain('does not end with a checkpoint');
});

test('detects the removal of a whole log, before and after a new start', async () => {
  await sql('DELETE FROM audit_log WHERE tenant_id = $1');
  await sql('DELETE FROM audit_chains WHERE tenant_id = $1');
  expect(await findings()).toEqual(['entry_missing 1']);
  await change('Later');
  expect(await findings()).toEqual(['entry_missing 1']);
});

test("authenticates the operators' log too", async () => {
  const verify = () => world.request('GET', '/v1/admin/audit-log/verify', { key: world.operatorKey });
  expect((await verify()).json.valid).toBe(true);
});

describe('a database from before heads were authenticated', () => {
  const log = createLog('silent');
  const open = () => openChainHeads(world.db, world.services.secrets, log);
  const forget = (where = '') => world.db.query(`UPDATE audit_chains SET mac = NULL ${where}`, []);
  const forgetAdoption = () => world.db.query('DELETE FROM audit_heads_adopted', []);

  test('a database without authenticated heads is adopted at the first start, by concurrently starting processes', async () => {
    await forget();
    await forgetAdoption();
    expect(await findings()).toEqual(['head_invalid 6']);
    await Promise.all([open(), open(), open()]);
    expect(await findings()).toEqual([]);
    await change('Later');
    expect(await findings()).toEqual([]);
  });

  test('a database without authenticated heads is not adopted a second time', async () => {
    await cutOff(4);
    await forget(`WHERE tenant_id = '${org.id}'`);
    await open();
    expect(await findings()).toEqual(['head_invalid 4']);
  });

  test('a database without authenticated heads is not adopted while another log is authenticated, whatever the record of the first start says', async () => {
    await cutOff(4);
    await forget(`WHERE tenant_id = '${org.id}'`);
    await forgetAdoption();
    const lines: string[] = [];
    await openChainHeads(
      world.db,
      world.services.secrets,
      createLog('info', { write: (line: string) => void lines.push(line) }),
    );
    expect(lines.join('')).toContain('verify the audit logs');
    expect(await findings()).toEqual(['head_invalid 4']);
  });
});
