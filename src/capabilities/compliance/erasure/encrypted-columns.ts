import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import { contextOf } from './erasure.ts';

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'customer_erasures',
    column: 'customer',
    type: 'bytea',
    key: { org_id: 'text', id: 'text' },
    contextOf: ({ org_id, id }) => contextOf({ org_id: org_id as string, id: id as string }),
  },
];
