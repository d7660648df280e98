import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';

/** Names the owner of a provider's key. A ciphertext cannot be moved to another connection. */
export const keyContext = (orgId: string, id: string) => `connection ${orgId} ${id}`;

export const credentialsContext = (orgId: string, id: string) => `credentials of connection ${orgId} ${id}`;

const ofConnection = {
  table: 'connections',
  type: 'bytea',
  key: { org_id: 'text', id: 'text' },
} as const satisfies Omit<EncryptedColumn, 'column' | 'contextOf'>;
const ofKey = {
  ...ofConnection,
  contextOf: ({ org_id, id }) => keyContext(org_id as string, id as string),
} as const satisfies Omit<EncryptedColumn, 'column'>;
const ofCredentials = {
  ...ofConnection,
  contextOf: ({ org_id, id }) => credentialsContext(org_id as string, id as string),
} as const satisfies Omit<EncryptedColumn, 'column'>;

export const encryptedColumns: readonly EncryptedColumn[] = [
  { ...ofKey, column: 'api_key' },
  { ...ofKey, column: 'previous_api_key' },
  { ...ofCredentials, column: 'encrypted_credentials' },
  { ...ofCredentials, column: 'previous_credentials' },
];
