export { attributionOf, memberAttribution } from './attribution.ts';
export { bootstrapOperator } from './bootstrap.ts';
export { createCredentials, credentialOrg } from './credentials.ts';
export { expiringKeys } from './expiring.ts';
export { keyRuleRoutes } from './key-rules.ts';
export { mintKey, revokeKey, revokeMemberKeys, viewKey } from './keys.ts';
export { minted, revoked } from './outcomes.ts';
export {
  type CredentialOrgRow,
  credentialOrgColumns,
  findAttribution,
  findKeyOrigins,
  findKeysExpiring,
  keyChanged,
  listKeys,
  revokeKeysOf,
  rolesOf,
  selectExpiredKeys,
  selectKeys,
} from './queries.ts';
export { keyRoutes } from './routes.ts';
export { MintKey, MintOperatorKey } from './schema.ts';
export { scopesInForce } from './scopes-in-force.ts';
export { createTokenLookups, type TokenLookups } from './token-lookups.ts';
export { unusedKeys } from './unused-keys.ts';
export { createKeyUses } from './uses.ts';
