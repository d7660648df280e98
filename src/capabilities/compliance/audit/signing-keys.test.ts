/** Rotation of the signing key, and the operators' log. */
import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary } from '../../../../test/support/limits.ts';
import { newPrivateKey, tokenSigner } from './signing.ts';
import { openSigner } from './signing-keys.ts';

const world = useWorld();
const org = useOrg(world);

const asOperator = (method: string, path: string) =>
  world.request(method, `/v1/admin/${path}`, { key: world.operatorKey });
const ofOrg = (method: string, path: string) =>
  world.request(method, `/v1/orgs/${org.id}/audit-log${path}`, { key: org.ownerKey });
const rotate = () => asOperator('POST', 'audit-signing-key/rotate');
const published = async () => (await world.request('GET', '/v1/meta/audit-signing-key')).json;
const keyIdOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8')).key_id;
const rename = (name: string) =>
  world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { name } });

describe('rotation of the signing key', () => {
  test('signs with the new key immediately, and old signatures stay valid', async () => {
    const first = await published();
    expect(first.previous).toEqual([]);
    const { json: kept } = await ofOrg('POST', '/checkpoints');
    expect(keyIdOf(kept.token)).toBe(first.id);
    // Signatures of retention and erasures must stay valid after the rotation too.
    await removeFirstEntry();
    world.clock.advanceSeconds(3_600);

    const { status, json } = await rotate();
    expect(status).toBe(200);
    const { previous, ...current } = json;
    expect(current.id).not.toBe(first.id);
    expect(previous).toEqual([{ ...withoutPrevious(first), retired_at: world.clock.now().toISOString() }]);
    expect(await published()).toEqual(json);
    await rename('Renamed');
    const { json: fresh } = await ofOrg('POST', '/checkpoints');
    expect(keyIdOf(fresh.token)).toBe(current.id);
    for (const token of [kept.token, fresh.token]) {
      const verified = await ofOrg('GET', `/verify?checkpoint=${token}`);
      expect(verified.json).toMatchObject({ valid: true, kept_checkpoint: 'checked', findings: [] });
      expect(keyIdOf(verified.json.head.token)).toBe(current.id);
    }
  });

  test("rotation of the signing key is recorded in the operators' audit log", async () => {
    const { json } = await asOperator('GET', 'audit-log?action=platform_audit.signing_key.rotate');
    const { id, previous } = await published();
    expect(json.data).toMatchObject([
      { actor: { kind: 'operator' }, target: { id }, before: { id: previous[0].id }, after: { id } },
    ]);
  });

  test('rotation of the signing key is serialized if it happens twice at the same time', async () => {
    const before = await published();
    const [one, other] = await Promise.all([rotate(), rotate()]);
    expect([one.status, other.status]).toEqual([200, 200]);
    const ids = (await published()).previous.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(before.previous.length + 2);
    expect(ids.slice(1)).toEqual([before.id, ...before.previous.map(({ id }: { id: string }) => id)]);
  });

  test('deletes the private half, and a key cannot be added through the database', async () => {
    const rows = await world.db.query<{ sealed: Uint8Array }>(
      'SELECT sealed FROM audit_signing_keys WHERE retired_at IS NOT NULL',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { sealed } of rows) {
      expect(() => world.services.secrets.decrypt(sealed, 'audit_signing_key')).toThrow();
    }
    // An attacker with access to the database alone can insert a row, but not one that can be decrypted.
    await world.db.query(
      `INSERT INTO audit_signing_keys (generation, sealed, created_at, retired_at) VALUES (99, $1, now(), now())`,
      [Buffer.from(newPrivateKey())],
    );
    try {
      expect((await ofOrg('GET', '/verify')).json).toMatchObject({
        valid: false,
        findings: [{ kind: 'key_invalid', seq: 0, message: expect.stringContaining('99') }],
        head: { token: '' },
      });
      // Other operations are not affected.
      expect((await published()).previous).toHaveLength(rows.length);
      expect((await ofOrg('POST', '/checkpoints')).status).toBe(201);
    } finally {
      await world.db.query('DELETE FROM audit_signing_keys WHERE generation = 99');
    }
    expect((await ofOrg('GET', '/verify')).json.valid).toBe(true);
  });

  test('drops rows that were inserted through the database, and records it', async () => {
    const { id } = await published();
    const [row] = await world.db.query<{ next: number }>(
      'SELECT max(generation) + 1 AS next FROM audit_signing_keys',
    );
    const made = [row?.next, 0];
    await world.db.query(
      `INSERT INTO audit_signing_keys (generation, sealed, created_at, retired_at)
       SELECT n, $2, now(), now() FROM unnest($1::int4[]) AS n`,
      [made, Buffer.from('made up')],
    );
    expect((await ofOrg('GET', '/verify')).json.findings).toMatchObject([
      { kind: 'key_invalid' },
      { kind: 'key_invalid' },
    ]);
    const { status, json } = await rotate();
    expect([status, json.previous[0].id]).toEqual([200, id]);
    expect((await ofOrg('GET', '/verify')).json).toMatchObject({ valid: true, findings: [] });
    const { data } = (await asOperator('GET', 'audit-log?action=platform_audit.signing_key.rotate')).json;
    expect(data[0].after).toMatchObject({ id: json.id, dropped_keys: made });
    expect(data[1].after).not.toHaveProperty('dropped_keys');
  });

  test('rotation of the signing key cannot be undone by restoring the old key', async () => {
    const inUse = async () => {
      const [row] = await world.db.query<{ generation: number; sealed: Uint8Array }>(
        'SELECT generation, sealed FROM audit_signing_keys WHERE retired_at IS NULL',
      );
      return row as { generation: number; sealed: Uint8Array };
    };
    const put = (sealed: Uint8Array) =>
      world.db.query('UPDATE audit_signing_keys SET sealed = $1 WHERE retired_at IS NULL', [sealed]);
    const old = await inUse();
    await rotate();
    const { sealed } = await inUse();
    await rename('While the old one is there');
    await put(old.sealed);
    // Signatures of the new key, such as that of the anchor, become invalid too.
    expect((await ofOrg('GET', '/verify')).json.findings).toMatchObject([
      { kind: 'key_invalid' },
      { kind: 'anchor_invalid' },
    ]);
    expect(errorSummary(await ofOrg('POST', '/checkpoints'))).toEqual([503, 'service_unavailable']);
    expect(world.logLines.filter((line) => line.includes('cannot be read: restore it'))).toHaveLength(1);
    expect((await world.request('GET', '/v1/meta/audit-signing-key')).status).toBe(503);
    expect((await ofOrg('GET', '')).status).toBe(200);
    await put(sealed);
    expect((await ofOrg('GET', '/verify')).json.valid).toBe(true);
  });

  test('invalidates later signatures of a stolen key', async () => {
    const [row] = await world.db.query<{ generation: number; sealed: Uint8Array }>(
      'SELECT generation, sealed FROM audit_signing_keys WHERE retired_at IS NULL',
    );
    const stolen = world.services.secrets.decrypt(
      row?.sealed ?? Buffer.of(),
      `audit_signing_key ${row?.generation}`,
    );
    const at = world.clock.now();
    await rotate();
    world.clock.advanceSeconds(3_600);
    await rename('Long after');
    const { seq, hash } = (await ofOrg('GET', '/verify')).json.head;
    const said = { kind: 'checkpoint', org_id: org.id, seq, hash, at: at.toISOString() } as const;
    const token = tokenSigner(stolen)(said);
    const expectRefused = async (query: string) =>
      expect((await ofOrg('GET', `/verify${query}`)).json).toMatchObject({
        valid: false,
        findings: [{ kind: 'checkpoint_invalid', seq }],
      });
    await expectRefused(`?checkpoint=${token}`);
    await world.db.query(
      `INSERT INTO audit_checkpoints (tenant_id, seq, id, hash, at, token) VALUES ($1, $2, 'chk_x', $3, $4, $5)`,
      [org.id, BigInt(seq), hash, at, token],
    );
    await expectRefused('');
    await world.db.query(`DELETE FROM audit_checkpoints WHERE id = 'chk_x'`);

    // An anchor signed with the stolen key, which claims that entries were removed before the key was replaced.
    const { json: kept } = await ofOrg('POST', '/checkpoints');
    await rename('Longer after');
    const { head } = (await ofOrg('GET', '/verify')).json;
    const anchor = tokenSigner(stolen)({ ...said, kind: 'anchor', seq: head.seq, hash: head.hash });
    await world.db.query('UPDATE audit_anchors SET seq = $2, hash = $3, token = $4 WHERE tenant_id = $1', [
      org.id,
      BigInt(head.seq),
      head.hash,
      anchor,
    ]);
    await world.db.query('DELETE FROM audit_log WHERE tenant_id = $1', [org.id]);
    for (const query of ['', `?checkpoint=${kept.token}`]) {
      expect((await ofOrg('GET', `/verify${query}`)).json).toMatchObject({
        valid: false,
        findings: [{ kind: 'anchor_invalid', seq: head.seq }],
      });
    }
    // The forged anchor is not signed again with the next key either.
    await rotate();
    expect((await ofOrg('GET', '/verify')).json.findings).toMatchObject([{ kind: 'anchor_invalid' }]);
  });

  test.each([
    ['broken', `UPDATE audit_signing_keys SET sealed = 'broken' WHERE retired_at IS NULL`],
    ['gone', 'DELETE FROM audit_signing_keys WHERE retired_at IS NULL'],
  ])('rotation of the signing key works if the current key is %s', async (_, statement) => {
    const { id } = await published();
    await world.db.query(statement);
    expect((await asOperator('GET', 'audit-log/verify')).json.findings[0]).toMatchObject({
      kind: 'key_invalid',
    });
    const { status, json } = await rotate();
    expect([status, await published()]).toEqual([200, json]);
    expect(json.previous.map((key: { id: string }) => key.id)).not.toContain(id);
    expect((await asOperator('POST', 'audit-log/checkpoints')).status).toBe(201);
    const { data } = (await asOperator('GET', 'audit-log?action=platform_audit.signing_key.rotate')).json;
    expect(data[0]).toMatchObject({ before: null, after: { id: json.id } });
    // The next start finds the new key, even if the first one is missing.
    await world.db.query('DELETE FROM audit_signing_keys WHERE generation = 1');
    const restarted = await openSigner(world.db, world.services.secrets, world.clock.now());
    expect((await restarted.publicKeys(world.db)).current?.id).toBe(json.id);
    // The next test creates its own checkpoint. A checkpoint signed by the key that the next test loses would stay
    // invalid.
    await world.db.query(`DELETE FROM audit_checkpoints WHERE tenant_id = 'platform'`);
  });

  test('rotation of the signing key is rejected after a hundred keys', async () => {
    const inUse = async () =>
      (await world.db.query('SELECT generation, sealed FROM audit_signing_keys WHERE retired_at IS NULL'))[0];
    const put = (key: { generation?: unknown; sealed?: unknown }) =>
      world.db.query('UPDATE audit_signing_keys SET generation = $1, sealed = $2 WHERE retired_at IS NULL', [
        key.generation,
        key.sealed,
      ]);
    const before = await inUse();
    const sealed = world.services.secrets.encrypt(newPrivateKey(), 'audit_signing_key 100');
    await put({ generation: 100, sealed });
    expect(errorSummary(await rotate())).toEqual([409, 'conflict']);
    expect((await inUse())?.generation).toBe(100);
    // A generation number that was written directly to the database does not count.
    await put({ ...before, generation: 2_147_483_647 });
    expect((await rotate()).status).toBe(200);
  });

  async function removeFirstEntry(): Promise<void> {
    world.clock.advanceSeconds(31 * 86_400);
    await rename('Later');
    await world.request('PUT', `/v1/orgs/${org.id}/retention-policy`, {
      key: org.ownerKey,
      body: { audit_days: 30 },
    });
    await world.runJob('apply-retention');
    expect((await ofOrg('GET', '/verify')).json.removed_until_seq).toBeGreaterThan(0);
  }

  function withoutPrevious({ previous: _, ...key }: { previous: unknown }) {
    return key;
  }
});

describe("the operators' log", () => {
  const verify = async (query = '') => (await asOperator('GET', `audit-log/verify${query}`)).json;

  test("the operators' log is listed, signed, exported and verified like that of an org", async () => {
    const { json: list } = await asOperator('GET', 'audit-log?sort=seq&limit=1');
    expect(list.data).toMatchObject([{ seq: 1, actor: { kind: expect.any(String) } }]);
    const { status, json: kept } = await asOperator('POST', 'audit-log/checkpoints');
    expect([status, kept.org_id]).toEqual([201, 'platform']);
    expect((await asOperator('GET', 'audit-log/checkpoints')).json.data).toEqual([kept]);
    expect(await verify(`?checkpoint=${kept.token}`)).toMatchObject({
      valid: true,
      kept_checkpoint: 'checked',
      last_seq: kept.seq,
    });
    const to = new Date(world.clock.now().getTime() + 1_000).toISOString();
    const from = new Date(Date.parse(to) - 80 * 86_400_000).toISOString();
    const { text } = await asOperator('GET', `audit-log/export?from=${from}&to=${to}`);
    expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      org_id: 'platform',
      seq: kept.seq,
      hash: kept.hash,
    });
  });

  test("the check of the operators' log detects changes", async () => {
    const change = (from: string, to: string) =>
      world.db.query(
        `UPDATE audit_log SET actor_id = replace(actor_id, $1, $2) WHERE tenant_id = 'platform' AND seq = 1`,
        [from, to],
      );
    const [row] = await world.db.query<{ actor_id: string }>(
      `SELECT actor_id FROM audit_log WHERE tenant_id = 'platform' AND seq = 1`,
    );
    await change(row?.actor_id ?? '', 'somebody else');
    expect(await verify()).toMatchObject({ valid: false, findings: [{ kind: 'entry_changed', seq: 1 }] });
    await change('somebody else', row?.actor_id ?? '');
    expect(await verify()).toMatchObject({ valid: true });
  });

  test("the operators' log is restricted to operators", async () => {
    for (const path of ['audit-log', 'audit-log/verify', 'audit-log/checkpoints']) {
      const answer = await world.request('GET', `/v1/admin/${path}`, { key: org.ownerKey });
      expect(errorSummary(answer)).toEqual([403, 'forbidden']);
    }
  });
});
