/** A way to get a credential of a cloud. Each has a file, and a line in the registry of its cloud (`aws/index.ts`). */
import type { FetchOptions } from '../outbound/fetch.ts';
import type { Credential } from './credential.ts';

/** The fields of the credentials of a connection, besides their source. */
export interface CredentialFields {
  readonly role_arn?: string;
  readonly external_id?: string;
  /** Null: none, not even those of the service. */
  readonly session_tags?: Readonly<Record<string, string>> | null;
  readonly access_key_id?: string;
  readonly secret_access_key?: string;
  readonly session_token?: string;
  readonly audience?: string;
  readonly subject?: 'token_file' | 'aws';
  /** Service account of Google to impersonate. */
  readonly service_account?: string;
  readonly service_account_key?: string;
  readonly tenant_id?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly client_certificate?: string;
  readonly identity_provider_id?: string;
  readonly service_account_id?: string;
  readonly federation_rule_id?: string;
  readonly organization_id?: string;
  readonly workspace_id?: string;
}
export type CredentialField = keyof CredentialFields;

/** Fields that are stored encrypted and never shown. */
export const secretFields = [
  'secret_access_key',
  'session_token',
  'service_account_key',
  'client_secret',
  'client_certificate',
] as const satisfies readonly CredentialField[];

export interface CredentialSource {
  readonly required: readonly CredentialField[];
  readonly optional: readonly CredentialField[];
  /** Returns true if an identity of this service is used, which the operator must allow. */
  usesService(fields: CredentialFields): boolean;
  /** Returns the identity that is used instead of that of the service itself: a role, a service account, an application. */
  targetOf(fields: CredentialFields): string | undefined;
  /** Returns the first field with an invalid value. */
  check?(fields: CredentialFields): InvalidField | undefined;
  /** Rejects with `CredentialUnavailable`. */
  acquire(request: CredentialRequest): IssuedCredential | Promise<IssuedCredential>;
}

export interface InvalidField {
  readonly field: CredentialField;
  readonly message: string;
}

export interface CredentialRequest {
  readonly fields: CredentialFields;
  /** The connection that needs the credential. It becomes the name and the tags of sessions, which bills and audit logs of a cloud show. */
  readonly owner: CredentialOwner;
  readonly region: string | undefined;
  readonly surroundings: Surroundings;
}

export interface CredentialOwner {
  readonly orgId: string;
  readonly connection: string;
}

export interface IssuedCredential {
  readonly credential: Credential;
  /** Undefined if it does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** Everything that sources read from outside of the connection. */
export interface Surroundings {
  /** The documented variables of the clouds (`cloud-variables.ts`). */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Files with an OIDC token of this process, by the name of who accepts it. */
  readonly tokenFiles: ReadonlyMap<string, string>;
  /** Addresses without a documented variable. */
  readonly endpoints: TokenEndpoints;
  fetch(url: string, options: FetchOptions): Promise<Response>;
  readFile(path: string): Promise<string>;
  nowMs(): number;
}

export interface TokenEndpoints {
  readonly googleOauth: string;
  readonly googleSts: string;
  readonly googleIamCredentials: string;
  readonly openai: string;
  readonly anthropic: string;
}

export const publicEndpoints: TokenEndpoints = {
  googleOauth: 'https://oauth2.googleapis.com/token',
  googleSts: 'https://sts.googleapis.com/v1/token',
  googleIamCredentials: 'https://iamcredentials.googleapis.com',
  openai: 'https://auth.openai.com/oauth/token',
  anthropic: 'https://api.anthropic.com/v1/oauth/token',
};

/** No credential could be got. The message says who refused it and has no secrets. */
export class CredentialUnavailable extends Error {
  override readonly name = 'CredentialUnavailable';
}
