import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import { secretContext } from './connection.ts';
import { testContext } from './sign-in-tests.ts';
import { attemptContext } from './sign-ins.ts';

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'sso_connections',
    column: 'client_secret',
    type: 'bytea',
    key: { org_id: 'text' },
    contextOf: ({ org_id }) => secretContext(org_id as string),
  },
  ...(['sealed', 'result'] as const).map(
    (column): EncryptedColumn => ({
      table: 'sso_tests',
      column,
      type: 'bytea',
      key: { org_id: 'text', id: 'text' },
      contextOf: ({ org_id, id }) => testContext(org_id as string, id as string),
    }),
  ),
  {
    table: 'sso_attempts',
    column: 'sealed',
    type: 'bytea',
    key: { digest: 'text' },
    others: ['org_id'],
    contextOf: ({ org_id }) => attemptContext(org_id as string),
  },
];
