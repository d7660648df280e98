import { expect, test } from 'vitest';
import type { Queryable } from './database.ts';
import { runTransaction } from './transaction.ts';

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
      sendNotification: async () => undefined,
      deliverNotification: () => undefined,
    },
    async (tx) => {
      await tx.unanswered.query('INSERT');
      await tx.unanswered.query('UPDATE');
    },
  );
  await expect(transaction).rejects.toBe(diskFull);
});
