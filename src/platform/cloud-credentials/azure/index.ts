/** The registry of credential sources of Azure. */
import type { CredentialSource } from '../credential-source.ts';
import { application } from './application.ts';
import { environment } from './environment.ts';
import { federation } from './federation.ts';
import { managedIdentity } from './managed-identity.ts';

export const azureSources = {
  federation,
  managed_identity: managedIdentity,
  environment,
  static: application,
} as const satisfies Readonly<Record<string, CredentialSource>>;
