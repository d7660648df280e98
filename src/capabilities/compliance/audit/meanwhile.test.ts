/** Reads of the log during concurrent appends, and while retention removes its oldest entries. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { engine, seededBytes, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { waitingForLocks } from '../../../../test/support/lock-waits.ts';
import { createIds, type Ids } from '../../../platform/ids.ts';
import { appendAudit, appendDated } from './audit.ts';
import type { AuditDraft } from './chain.ts';
import { lockChain } from './head-queries.ts';

const world = useWorld();
const org = useOrgPerTest(world);
let ids: Ids;
beforeAll(() => {
  ids = createIds(world.clock, seededBytes(7));
});

const logPath = (path: string) => `/v1/orgs/${org.id}/audit-log${path}`;
const send = (method: string, path: string) => world.request(method, logPath(path), { key: org.ownerKey });

const draft = (name: string): AuditDraft => ({
  actorKind: 'key',
  actorId: 'key_1',
  action: 'budgets.change',
  outcome: 'success',
  code: null,
  targetKind: 'budget',
  targetId: name,
  before: null,
  after: null,
  detail: null,
  address: null,
  traceId: null,
});

/** Appends entries that are dated now. */
async function append(count: number): Promise<void> {
  const at = world.clock.now().toISOString();
  const drafts = Array.from({ length: count }, (_, n) => ({ ...draft(`bud_${n}`), id: `aud_${n}`, at }));
  await world.db.transaction(async (tx) =>
    appendDated(tx, world.services.auditHeads, org.id, await lockChain(tx, org.id), drafts),
  );
}

describe('verification during retention', () => {
  const job = () => world.job('apply-retention');

  /** Creates a log that is long enough to be read and deleted in several steps. */
  async function longLog(): Promise<void> {
    // Removes earlier policies directly, which is safe because no other request runs in between.
    await world.db.query('DELETE FROM retention_policies');
    await append(1_798);
    world.clock.advanceSeconds(31 * 86_400);
    await append(700);
    const put = await world.request('PUT', `/v1/orgs/${org.id}/retention-policy`, {
      key: org.ownerKey,
      body: { audit_days: 30 },
    });
    expect(put.status).toBe(200);
  }

  /** Verifies the log, and deletes the given number of batches before each read. */
  async function verifyWith(batchesBefore: (read: number) => number | Promise<number>) {
    const { query } = world.db;
    let reads = 0;
    let deleted = 0;
    world.db.query = (async (sql: string, params?: readonly unknown[]) => {
      if (sql.includes('FROM audit_log') && sql.includes('seq > $2') && params?.[0] === org.id) {
        const read = reads;
        reads += 1;
        const wanted = await batchesBefore(read);
        for (let batch = 0; batch < wanted; batch += 1) {
          world.db.query = query;
          deleted += (await job().runOnce()) ? 1 : 0;
        }
        world.db.query = intercepted;
      }
      return query.call(world.db, sql, params);
    }) as typeof query;
    const intercepted = world.db.query;
    try {
      const { json } = await send('GET', '/verify');
      return { deleted, found: json.findings, removed: json.removed_until_seq, last: json.last_seq, json };
    } finally {
      world.db.query = query;
    }
  }

  test.each([
    ['a batch before each read', () => 1],
    ['faster than it is read', () => 2],
    ['all of it between the first and the second read', (read: number) => (read === 1 ? 3 : 0)],
    ['all of it before the first', (read: number) => (read === 0 ? 3 : 0)],
  ])('does not report entries that retention has removed as missing: %s', async (_, batchesBefore) => {
    await longLog();
    const { deleted, found, removed, json } = await verifyWith(batchesBefore);
    expect([found, deleted > 1, json.head.token === '']).toEqual([[], true, false]);
    expect(removed).toBe(1_800);
  });

  test('accepts signatures of a key that was rotated in during the verification', async () => {
    await longLog();
    const { found, removed } = await verifyWith(async (read) => {
      if (read > 0) {
        return 0;
      }
      const rotated = await world.request('POST', '/v1/admin/audit-signing-key/rotate', {
        key: world.operatorKey,
      });
      expect(rotated.status).toBe(200);
      return 3;
    });
    expect([found, removed]).toEqual([[], 1_800]);
  });

  test('still detects entries that were removed or changed otherwise', async () => {
    await longLog();
    await world.db.query('DELETE FROM audit_log WHERE tenant_id = $1 AND seq IN (1801, 1802, 1900)', [
      org.id,
    ]);
    await world.db.query(`UPDATE audit_log SET actor_id = 'x' WHERE tenant_id = $1 AND seq = 2000`, [org.id]);
    const { found } = await verifyWith(() => 2);
    expect(found).toMatchObject([
      { kind: 'entry_missing', seq: 1_801, until_seq: 1_802 },
      { kind: 'entry_missing', seq: 1_900, until_seq: 1_900 },
      { kind: 'entry_changed', seq: 2_000 },
    ]);
  });
});

describe('an export during appends', () => {
  const seqs = (text: string) =>
    text
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line).seq as number);
  const day = 86_400_000;
  const exportPath = (from: string, to: string, cursor = 0) =>
    `/export?from=${from}&to=${to}&cursor=${cursor}`;
  const upTo = (seq: number) => Array.from({ length: seq }, (_, n) => n + 1);
  const headSeq = async () => (await send('GET', '?limit=1')).json.data[0].seq as number;

  test('window by window: no entry is lost or duplicated', async () => {
    const windows: number[][] = [];
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; n < 15; n += 1) {
        await world.db.transaction((tx) =>
          appendAudit(tx, { ids, heads: world.services.auditHeads }, org.id, [
            draft(`${writer} ${n}`),
            draft(`${writer} ${n} again`),
          ]),
        );
      }
    });
    let from = new Date(world.clock.now().getTime() - day).toISOString();
    let writing = true;
    const written = Promise.all(writers).finally(() => {
      writing = false;
    });
    const window = async () => {
      // The window ends now: a concurrent append has either dated its entry before this instant, or will date it later.
      world.clock.advanceSeconds(1);
      const to = world.clock.now().toISOString();
      windows.push(seqs((await send('GET', exportPath(from, to))).text));
      from = to;
    };
    while (writing) {
      await window();
    }
    await written;
    await window();
    expect(windows.filter((lines) => lines.length > 0).length).toBeGreaterThan(1);
    expect(windows.flat()).toEqual(upTo(2 + 120));
    expect(await headSeq()).toBe(122);
  });

  test('an export during appends waits for an entry that is dated within the window but not committed yet', async () => {
    const from = new Date(world.clock.now().getTime() - day).toISOString();
    let exported: Promise<{ text: string }> | undefined;
    let isDone = false;
    await world.db.transaction(async (tx) => {
      await appendAudit(tx, { ids, heads: world.services.auditHeads }, org.id, [draft('late')]);
      world.clock.advanceSeconds(1);
      exported = send('GET', exportPath(from, world.clock.now().toISOString())).finally(() => {
        isDone = true;
      });
      if (engine === 'postgres') {
        // Waits until the other transaction waits for a lock or is done. The embedded engine has one connection, which
        // this transaction holds.
        await eventually(async () => expect(isDone || (await waitingForLocks(world.db)) > 0).toBe(true));
      }
      expect(isDone).toBe(false);
    });
    expect(seqs((await exported)?.text ?? '')).toEqual(upTo(3));
  });

  test('interrupted and resumed by cursor, repeatedly', async () => {
    await append(1_500);
    const { url } = await world.listen();
    const from = new Date(world.clock.now().getTime() - day).toISOString();
    const to = new Date(world.clock.now().getTime() + day).toISOString();
    const arrived: number[] = [];
    /** Reads some lines and disconnects. Returns true if the export was complete. */
    const some = async (lines: number): Promise<boolean> => {
      const request = get(`${url}${logPath(exportPath(from, to, arrived.at(-1)))}`, {
        headers: { authorization: `Bearer ${org.ownerKey}` },
      });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) {
        text += chunk;
        if (text.split('\n').length > lines) {
          request.destroy();
          break;
        }
      }
      // The last line may be incomplete.
      arrived.push(...seqs(text.slice(0, text.lastIndexOf('\n') + 1)));
      return response.complete;
    };
    let cuts = 0;
    while (!(await some(300)) || arrived.at(-1) !== (await headSeq())) {
      cuts += 1;
      if (cuts < 4) {
        await append(10);
      }
    }
    expect(cuts).toBeGreaterThan(3);
    expect(arrived).toEqual(upTo(1_532));
  });
});
