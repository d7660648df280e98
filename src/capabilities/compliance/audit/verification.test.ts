import { beforeEach, describe, expect, test } from 'vitest';
import { seededBytes, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { createIds } from '../../../platform/ids.ts';
import { appendDated } from './audit.ts';
import { type AuditEntry, type ChainPosition, chained, chainStart, redactedDigest } from './chain.ts';
import { lockChain } from './head-queries.ts';
import { type AuditRow, entryOfRow } from './queries.ts';
import { redactEntries } from './redaction.ts';
import { tokenOpener } from './signing.ts';

const world = useWorld();
const org = useOrgPerTest(world);
beforeEach(async () => {
  for (let n = 0; n < 6; n += 1) {
    await change(`Name ${n}`);
  }
});

const send = (method: string, path: string) =>
  world.request(method, `/v1/orgs/${org.id}/audit-log${path}`, { key: org.ownerKey });

async function change(name: string): Promise<void> {
  await world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { name } });
}

interface Found {
  readonly kind: string;
  readonly seq: number;
  readonly until_seq: number;
}

/** Returns the findings as `kind first-last`. */
async function findings(checkpoint?: string): Promise<string[]> {
  const { json } = await send('GET', `/verify${checkpoint === undefined ? '' : `?checkpoint=${checkpoint}`}`);
  expect(json.valid).toBe(json.findings.length === 0);
  return json.findings.map(({ kind, seq, until_seq }: Found) =>
    seq === until_seq ? `${kind} ${seq}` : `${kind} ${seq}-${until_seq}`,
  );
}

const sql = (text: string, ...params: unknown[]) => world.db.query(text, [org.id, ...params]);

async function readAll(): Promise<AuditEntry[]> {
  const rows = await sql('SELECT * FROM audit_log WHERE tenant_id = $1 ORDER BY seq');
  return rows.map((row) => entryOfRow(row as unknown as AuditRow));
}

/** Replaces the log by a consistent chain of these entries, as a database administrator could. */
async function forge(entries: readonly AuditEntry[]): Promise<void> {
  await sql('DELETE FROM audit_log WHERE tenant_id = $1');
  let position: ChainPosition = chainStart;
  for (const entry of entries) {
    const next: AuditEntry = chained(org.id, position, entry);
    await sql(
      `INSERT INTO audit_log (tenant_id, seq, id, at, actor_kind, actor_id, action, outcome, target_kind, target_id,
                              before, after, address, trace_id, salt, commitment, previous_hash, hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 'success', $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
      BigInt(next.seq),
      next.id,
      new Date(next.at),
      next.actorKind,
      next.actorId,
      next.action,
      next.targetKind,
      next.targetId,
      JSON.stringify(next.before),
      JSON.stringify(next.after),
      next.address,
      next.traceId,
      next.salt,
      next.commitment,
      next.previousHash,
      next.hash,
    );
    position = next;
  }
  await sql(
    'UPDATE audit_chains SET seq = $2, hash = $3 WHERE tenant_id = $1',
    BigInt(position.seq),
    position.hash,
  );
}

test('an unchanged log is valid, and the result contains its end', async () => {
  const { json } = await send('GET', '/verify');
  expect(json).toMatchObject({
    valid: true,
    checked_entries: 8,
    last_seq: 8,
    removed_until_seq: null,
    findings: [],
  });
  expect(await findings(json.head.token)).toEqual([]);
});

describe('without any checkpoint', () => {
  test.each([
    [`UPDATE audit_log SET actor_id = 'somebody else' WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET after = '{"name": "Innocent"}' WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET outcome = 'denied' WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET detail = '{}' WHERE tenant_id = $1 AND seq = 4`],
    ['UPDATE audit_log SET salt = NULL WHERE tenant_id = $1 AND seq = 4'],
    [`UPDATE audit_log SET salt = NULL, commitment = NULL, after = '{}' WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET salt = NULL, after = '{}', redacted_by = 6 WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET salt = NULL, after = '{}', redacted_by = 99 WHERE tenant_id = $1 AND seq = 4`],
    [`UPDATE audit_log SET hash = repeat('0', 64) WHERE tenant_id = $1 AND seq = 4`],
    [
      `UPDATE audit_log SET at = (at AT TIME ZONE 'UTC' + interval '1 second') AT TIME ZONE 'UTC' WHERE tenant_id = $1 AND seq = 4`,
    ],
  ])('detects a changed entry: %s', async (statement) => {
    await sql(statement);
    expect(await findings()).toEqual(['entry_changed 4']);
  });

  test('detects an entry that was changed together with its hash', async () => {
    const entries = await readAll();
    const [before, fourth] = [entries[2] as AuditEntry, entries[3] as AuditEntry];
    const { salt, commitment, hash } = chained(org.id, before, { ...fourth, after: { name: 'Innocent' } });
    await sql(
      `UPDATE audit_log SET after = '{"name": "Innocent"}', salt = $2, commitment = $3, hash = $4
        WHERE tenant_id = $1 AND seq = 4`,
      salt,
      commitment,
      hash,
    );
    expect(await findings()).toEqual(['entry_changed 4']);
  });

  test('detects a last entry that was changed together with its hash', async () => {
    const entries = await readAll();
    const [before, last] = entries.slice(-2) as [AuditEntry, AuditEntry];
    const forged = chained(org.id, before, { ...last, after: null });
    await sql(
      'UPDATE audit_log SET after = NULL, salt = $2, commitment = $3, hash = $4 WHERE tenant_id = $1 AND seq = 8',
      forged.salt,
      forged.commitment,
      forged.hash,
    );
    expect(await findings()).toEqual(['entry_changed 8']);
  });

  test('detects deleted entries', async () => {
    await sql('DELETE FROM audit_log WHERE tenant_id = $1 AND seq IN (3, 5, 6)');
    expect(await findings()).toEqual(['entry_missing 3', 'entry_missing 5-6']);
    await sql('DELETE FROM audit_log WHERE tenant_id = $1 AND seq < 3');
    expect(await findings()).toEqual(['entry_missing 1-3', 'entry_missing 5-6']);
  });

  test.each([
    [3, 4],
    [2, 7],
  ])('detects that entries %i and %i were swapped', async (one, other) => {
    await sql('UPDATE audit_log SET seq = -1 WHERE tenant_id = $1 AND seq = $2', one);
    await sql('UPDATE audit_log SET seq = $2 WHERE tenant_id = $1 AND seq = $3', one, other);
    await sql('UPDATE audit_log SET seq = $2 WHERE tenant_id = $1 AND seq = -1', other);
    expect(await findings()).toEqual([`entry_moved ${one}`, `entry_moved ${other}`]);
  });

  test('detects a removed tail if the head is unchanged', async () => {
    await sql('DELETE FROM audit_log WHERE tenant_id = $1 AND seq > 5');
    expect(await findings()).toEqual(['tail_missing 6-8']);
  });

  test('detects a forged erasure with its own redaction entry at the end', async () => {
    const entries = await readAll();
    const fourth: AuditEntry = {
      ...(entries[3] as AuditEntry),
      after: { name: 'Innocent' },
      salt: null,
      redactedBy: 9,
    };
    const after = { redacted: [[4, redactedDigest(fourth)]], token: 'e30.e30' };
    await world.db.transaction(async (tx) =>
      appendDated(tx, world.services.auditHeads, org.id, await lockChain(tx, org.id), [
        { ...(entries[7] as AuditEntry), action: 'audit.redact', after, before: null },
      ]),
    );
    await sql(
      `UPDATE audit_log SET after = '{"name": "Innocent"}', salt = NULL, redacted_by = 9 WHERE tenant_id = $1 AND seq = 4`,
    );
    expect(await findings()).toEqual(['entry_changed 4']);
  });

  test('does not sign an end that does not match', async () => {
    await sql(`UPDATE audit_log SET actor_id = 'x' WHERE tenant_id = $1 AND seq = 8`);
    expect((await send('GET', '/verify')).json.head.token).toBe('');
    expect((await send('POST', '/checkpoints')).status).toBe(409);
    await sql('DELETE FROM audit_log WHERE tenant_id = $1 AND seq = 8');
    expect((await send('POST', '/checkpoints')).status).toBe(409);
  });

  test('detects a head that is set before the last entry', async () => {
    await sql('UPDATE audit_chains SET seq = 5 WHERE tenant_id = $1');
    expect(await findings()).toEqual(['head_wrong 5']);
  });
});

describe('against checkpoints', () => {
  test('detects a removed tail whose head was changed too', async () => {
    const { json: kept } = await send('POST', '/checkpoints');
    const entries = await readAll();
    await forge(entries.slice(0, 5));
    expect(await findings()).toEqual(['tail_missing 6-8']);
    await sql('DELETE FROM audit_checkpoints WHERE tenant_id = $1');
    expect(await findings()).toEqual(['head_invalid 5']);
    expect(await findings(kept.token)).toEqual(['tail_missing 6-8']);
  });

  test('locates a rewritten chain between the checkpoints that still match and those that do not', async () => {
    await send('POST', '/checkpoints');
    await change('More');
    const { json: kept } = await send('POST', '/checkpoints');
    const entries = await readAll();
    await forge(entries.map((entry) => (entry.seq === 4 ? { ...entry, actorId: 'key_framed' } : entry)));
    expect(await findings()).toEqual(['chain_rewritten 1-8', 'chain_rewritten 1-9', 'head_invalid 9']);
    await sql('DELETE FROM audit_checkpoints WHERE tenant_id = $1');
    expect(await findings()).toEqual(['head_invalid 9']);
    expect(await findings(kept.token)).toEqual(['chain_rewritten 1-9', 'head_invalid 9']);
  });

  test('rejects a stored checkpoint without a valid signature', async () => {
    await send('POST', '/checkpoints');
    await sql(`UPDATE audit_checkpoints SET hash = repeat('0', 64) WHERE tenant_id = $1`);
    expect(await findings()).toEqual(['checkpoint_invalid 8']);
  });

  test('a kept checkpoint must belong to this log and be genuine', async () => {
    const { json: kept } = await send('POST', '/checkpoints');
    const [body, signature] = kept.token.split('.');
    const forged = Buffer.from(
      Buffer.from(body, 'base64url').toString('utf8').replace('"seq":8', '"seq":7'),
    ).toString('base64url');
    const other = await world.createOrg();
    const theirs = await world.request('POST', `/v1/orgs/${other.id}/audit-log/checkpoints`, {
      key: other.ownerKey,
    });
    for (const token of ['nonsense', `${forged}.${signature}`, `${body}.`, theirs.json.token]) {
      const { status, json } = await send('GET', `/verify?checkpoint=${token}`);
      expect([status, json.error.details.fields[0].field]).toEqual([422, 'checkpoint']);
    }
  });
});

describe('retention', () => {
  const days = 86_400;
  const policy = (method: string, body?: object) =>
    world.request(method, `/v1/orgs/${org.id}/retention-policy`, {
      key: org.ownerKey,
      ...(body && { body }),
    });
  const seqsLeft = async () => (await readAll()).map(({ seq }) => seq);
  beforeEach(async () => {
    await policy('PUT', { audit_days: 30 });
  });

  /** Deletes expired data; returns the kinds that failed. */
  async function retain(): Promise<string[]> {
    await world.runJob('apply-retention');
    return (await policy('GET')).json.failing;
  }

  /** Dates the first entry back, with the matching hash. */
  async function backdateFirst(): Promise<void> {
    const [first] = (await readAll()) as [AuditEntry];
    const at = new Date(Date.parse(first.at) - 100 * days * 1_000).toISOString();
    const { salt, commitment, hash } = chained(org.id, chainStart, { ...first, at });
    await sql(
      'UPDATE audit_log SET at = $2, salt = $3, commitment = $4, hash = $5 WHERE tenant_id = $1 AND seq = 1',
      new Date(at),
      salt,
      commitment,
      hash,
    );
  }

  const backdate = (where: string) =>
    sql(
      `UPDATE audit_log SET at = (at AT TIME ZONE 'UTC' - interval '100 days') AT TIME ZONE 'UTC' WHERE tenant_id = $1 AND ${where}`,
    );
  const remove = (where: string) => sql(`DELETE FROM audit_log WHERE tenant_id = $1 AND ${where}`);

  test.each<[string, string, () => Promise<unknown>]>([
    ['dated back', 'entry_changed 1', () => backdate('seq = 1')],
    ['dated back together with its hash', 'entry_changed 1', backdateFirst],
    [
      'dated back behind others that somebody has removed',
      'entry_missing 1-4',
      async () => {
        await remove('seq < 5');
        await backdate('seq = 5');
      },
    ],
    [
      'after an unsigned anchor',
      'anchor_invalid 4',
      async () => {
        await sql(
          `INSERT INTO audit_anchors (tenant_id, seq, hash, token)
           SELECT tenant_id, seq, hash, 'e30.e30' FROM audit_log WHERE tenant_id = $1 AND seq = 4`,
        );
        await remove('seq < 5');
        world.clock.advanceSeconds(31 * days);
      },
    ],
    [
      'the end, and not what the chain ends with',
      'entry_changed 9',
      async () => {
        world.clock.advanceSeconds(31 * days);
        await sql(`UPDATE audit_chains SET hash = repeat('0', 64) WHERE tenant_id = $1`);
      },
    ],
  ])('removes and signs nothing that is %s', async (_, found, tamper) => {
    await tamper();
    const left = await seqsLeft();
    expect(await retain()).toEqual(['audit_entries']);
    expect(await seqsLeft()).toEqual(left);
    expect((await findings())[0]).toBe(found);
  });

  test('keeps an entry whose date only an erasure could prove, until a later one is old enough', async () => {
    await sql(
      `UPDATE audit_log SET at = (at AT TIME ZONE 'UTC' - interval '100 days') AT TIME ZONE 'UTC', commitment = NULL, salt = NULL, redacted_by = 6
        WHERE tenant_id = $1 AND seq = 1`,
    );
    expect(await retain()).toEqual([]);
    expect((await seqsLeft())[0]).toBe(1);
    expect(await findings()).toEqual(['entry_changed 1']);
    // Retention still runs: it removes the entry once a later entry is old enough as well.
    world.clock.advanceSeconds(31 * days);
    expect(await retain()).toEqual([]);
    expect((await seqsLeft())[0]).toBeGreaterThan(1);
  });

  test('removes redacted entries before the erasure itself', async () => {
    const limit = { customer_id: 'c-3', period: 'day', limit_usd: '1' };
    await world.request('POST', `/v1/orgs/${org.id}/customer-limits`, { key: org.ownerKey, body: limit });
    world.clock.advanceSeconds(31 * days);
    const { auditHeads: heads, auditSigner: signer } = world.services;
    const deps = { ids: createIds(world.clock, seededBytes(9)), heads, signer };
    const names = { from: 'c-3', to: 'erased' };
    const { changed } = await world.db.transaction((tx) =>
      redactEntries(tx, deps, { ...names, tenantId: org.id, after: 0, limit: 100, now: world.clock.now() }),
    );
    expect(changed).toBeGreaterThan(0);
    expect(await retain()).toEqual([]);
    expect((await seqsLeft())[0]).toBe(11);
    expect(await findings()).toEqual([]);
  });
});

test('lists checkpoints, returns the same one while nothing is appended, and signs with the published key', async () => {
  const { status, json: first } = await send('POST', '/checkpoints');
  expect([status, first]).toEqual([
    201,
    expect.objectContaining({ org_id: org.id, seq: 8, at: world.clock.now().toISOString() }),
  ]);
  expect((await send('POST', '/checkpoints')).json).toEqual(first);
  await change('More');
  const { json: second } = await send('POST', '/checkpoints');
  expect((await send('GET', '/checkpoints')).json).toEqual({ data: [second, first], next_cursor: null });
  const { json: key } = await world.request('GET', '/v1/meta/audit-signing-key');
  expect(tokenOpener([{ pem: key.public_key, retiredAt: null }])(second.token)).toMatchObject({
    kind: 'checkpoint',
    org_id: org.id,
    seq: 9,
    hash: second.hash,
    key_id: key.id,
  });
  expect(second.hash).toBe((await readAll()).at(-1)?.hash);
});

test('emits a checkpoint event once a day if entries were appended', async () => {
  const job = world.job('sign-daily-checkpoints');
  const events = async () =>
    (await sql(`SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'audit.checkpoint' ORDER BY id`)).map(
      ({ data }) => (data as { seq: number }).seq,
    );
  const dayLater = async () => {
    world.clock.advanceSeconds(86_400);
    while (await job.runOnce()) {
      // Repeat until no org of this world is due.
    }
  };
  await job.runOnce();
  expect(await events()).toEqual([]);
  await dayLater();
  expect(await events()).toEqual([8]);
  await dayLater();
  expect(await events()).toEqual([8]);
  await change('More');
  await job.runOnce();
  expect(await events()).toEqual([8, 9]);
});

test('logs that cannot be signed do not delay others, however many there are', async () => {
  const job = world.job('sign-daily-checkpoints');
  // More chains than fit into a batch, all sorted before the org.
  await world.db.query(
    `INSERT INTO audit_chains (tenant_id, seq, hash) SELECT 'broken_' || n, 1, 'nothing' FROM generate_series(1, 60) AS n`,
  );
  await world.db.query(
    `INSERT INTO audit_log (tenant_id, seq, id, at, actor_kind, actor_id, action, target_kind, target_id, previous_hash, hash)
     SELECT tenant_id, 1, tenant_id, 'epoch', '', '', '', '', '', '', '' FROM audit_chains WHERE hash = 'nothing'`,
  );
  world.clock.advanceSeconds(86_400);
  for (let batches = 1; await job.runOnce(); batches += 1) {
    expect(batches).toBeLessThan(10);
  }
  expect((await send('GET', '/checkpoints')).json.data).toMatchObject([{ seq: 8 }]);
  const complaints = world.logLines.filter((line) => line.includes('"tenant":"broken_'));
  expect(complaints).toHaveLength(60);
});
