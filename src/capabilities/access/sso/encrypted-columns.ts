import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import { secretContext } from './connection.ts';
import { attemptContext } from './sign-ins.ts';

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'sso_connections',
    column: 'client_secret',
    type: 'bytea',
    key: { org_id: 'text' },
    contextOf: ({ org_id }) => secretContext(org_id as string),
  },
  {
    table: 'sso_attempts',
    column: 'sealed',
    type: 'bytea',
    key: { digest: 'text' },
    others: ['org_id'],
    contextOf: ({ org_id }) => attemptContext(org_id as string),
  },
];
