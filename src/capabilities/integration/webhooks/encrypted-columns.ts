import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import { orgContext, subscriptionContext } from './signing.ts';

const ofSubscription = {
  table: 'webhook_subscriptions',
  type: 'bytea',
  key: { org_id: 'text', id: 'text' },
  contextOf: ({ org_id, id }) => subscriptionContext(org_id as string, id as string),
} as const satisfies Omit<EncryptedColumn, 'column'>;

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'webhook_org_secrets',
    column: 'secret',
    type: 'bytea',
    key: { org_id: 'text' },
    contextOf: ({ org_id }) => orgContext(org_id as string),
  },
  { ...ofSubscription, column: 'secret' },
  { ...ofSubscription, column: 'previous_secret' },
];
