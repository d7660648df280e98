import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';

/** Names the owner of a provider's key. A ciphertext cannot be moved to another connection. */
export const keyContext = (orgId: string, id: string) => `connection ${orgId} ${id}`;

const ofConnection = {
  table: 'connections',
  type: 'bytea',
  key: { org_id: 'text', id: 'text' },
  contextOf: ({ org_id, id }) => keyContext(org_id as string, id as string),
} as const satisfies Omit<EncryptedColumn, 'column'>;

export const encryptedColumns: readonly EncryptedColumn[] = [
  { ...ofConnection, column: 'api_key' },
  { ...ofConnection, column: 'previous_api_key' },
];
