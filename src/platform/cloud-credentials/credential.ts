/** Authenticates a request to a provider. Must never be logged. */
export type ProviderCredential = KeyCredential | BearerCredential | AwsCredential;
/** Short where nothing else is a credential. */
export type { ProviderCredential as Credential };

/** A key of the provider, which each kind of connection sends in a header of its own. */
export interface KeyCredential {
  readonly type: 'key';
  readonly key: string;
}

/** An access token, for the header `Authorization`. */
export interface BearerCredential {
  readonly type: 'bearer';
  readonly token: string;
}

/** Signs requests (`sign-aws.ts`). */
export interface AwsCredential {
  readonly type: 'aws';
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Undefined for keys that do not expire. */
  readonly sessionToken?: string | undefined;
}

/** Returns the parts of a credential that must not appear in a response or in a log. */
export function secretsOf(credential: ProviderCredential): readonly string[] {
  switch (credential.type) {
    case 'key':
      return [credential.key];
    case 'bearer':
      return [credential.token];
    case 'aws':
      return credential.sessionToken === undefined
        ? [credential.secretAccessKey]
        : [credential.secretAccessKey, credential.sessionToken];
  }
}
