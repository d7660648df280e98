/** The registry of credential sources of AWS. */
import type { CredentialSource } from '../credential-source.ts';
import { assumeRole } from './assume-role.ts';
import { environment } from './environment.ts';
import { instance } from './instance.ts';
import { staticKeys } from './static-keys.ts';
import { webIdentity } from './web-identity.ts';

export const awsSources = {
  web_identity: webIdentity,
  instance,
  assume_role: assumeRole,
  environment,
  static: staticKeys,
} as const satisfies Readonly<Record<string, CredentialSource>>;
