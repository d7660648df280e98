/** The registry of credential sources of Google. */
import type { CredentialSource } from '../credential-source.ts';
import { environment } from './environment.ts';
import { federation } from './federation.ts';
import { metadata } from './metadata.ts';
import { serviceAccountKey } from './service-account.ts';

export const googleSources = {
  federation,
  metadata,
  environment,
  static: serviceAccountKey,
} as const satisfies Readonly<Record<string, CredentialSource>>;
