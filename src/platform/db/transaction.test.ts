import { expect, test } from 'vitest';
import type { Queryable } from './database.ts';
import { runTransaction, type TransactionParts } from './transaction.ts';

const notifications = { sendNotification: async () => undefined, deliverNotification: () => undefined };

/** A connection that responds one turn of the event loop after a statement was sent, and records what was sent and when. */
function recordingConnection(failures: Readonly<Record<string, Error>> = {}) {
  const log: string[] = [];
  const connection: Queryable = {
    async query(sql) {
      log.push(sql);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${sql} answered`);
      if (failures[sql] !== undefined) {
        throw failures[sql];
      }
      return [];
    },
  };
  const parts: TransactionParts = { connection, sendsAtOnce: false, ...notifications };
  return { log, parts };
}

const reported = (code: string) => Object.assign(new Error(code), { code });

test('reports the cause of a failure, also if errors of later statements arrive before it', async () => {
  const diskFull = reported('53100');
  const connection: Queryable = {
    async query(sql) {
      if (sql === 'INSERT') {
        // Later than the error of the statement behind it.
        await new Promise((resolve) => setImmediate(resolve));
        throw diskFull;
      }
      if (sql === 'UPDATE') {
        throw reported('25P02');
      }
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      return [];
    },
  };
  const transaction = runTransaction(
    {
      connection,
      sendsAtOnce: true,
      ...notifications,
    },
    async (tx) => {
      await tx.pipelined.query('INSERT');
      await tx.pipelined.query('UPDATE');
    },
  );
  await expect(transaction).rejects.toBe(diskFull);
});

test('sends the first reads together with BEGIN if that is allowed', async () => {
  const { log, parts } = recordingConnection();
  await runTransaction({ ...parts, readsFirst: true }, async (tx) => {
    await tx.query('SELECT');
    await tx.query('UPDATE');
  });
  expect(log.slice(0, 4)).toEqual(['BEGIN', 'SELECT', 'BEGIN answered', 'SELECT answered']);
  expect(log.slice(4)).toEqual(['UPDATE', 'UPDATE answered', 'COMMIT', 'COMMIT answered']);
});

test('waits for BEGIN before the first statement otherwise', async () => {
  const { log, parts } = recordingConnection();
  await runTransaction(parts, (tx) => tx.query('UPDATE'));
  expect(log.slice(0, 3)).toEqual(['BEGIN', 'BEGIN answered', 'UPDATE']);
});

test('uses no result and sends nothing more if BEGIN fails', async () => {
  const noBegin = reported('57014');
  const { log, parts } = recordingConnection({ BEGIN: noBegin });
  let hasResult = false;
  const transaction = runTransaction({ ...parts, readsFirst: true }, async (tx) => {
    await tx.query('SELECT');
    hasResult = true;
    await tx.query('UPDATE');
  });
  await expect(transaction).rejects.toBe(noBegin);
  expect(hasResult).toBe(false);
  expect(log).not.toContain('UPDATE');
  expect(log).not.toContain('COMMIT');
});

test('commits only after the statements that were not awaited, and not if one of them failed', async () => {
  const { log, parts } = recordingConnection();
  await runTransaction(parts, async (tx) => void (await tx.pipelined.query('INSERT')));
  expect(log.indexOf('INSERT answered')).toBeLessThan(log.indexOf('COMMIT'));

  const diskFull = reported('53100');
  const failing = recordingConnection({ INSERT: diskFull });
  const transaction = runTransaction(failing.parts, async (tx) => void (await tx.pipelined.query('INSERT')));
  await expect(transaction).rejects.toBe(diskFull);
  expect(failing.log).not.toContain('COMMIT');
});
