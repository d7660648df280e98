/**
 * Decides which identities of this service an organization may use, and where their tokens may be sent. The operator configures both: an
 * organization could otherwise act with the rights of the service, or send its token to a server of its own.
 */
import { knownHostOf } from '../../../kernel/known-hosts.ts';
import { isSameUrl } from './base-url.ts';
import { type ConnectionKind, type DefaultUrls, kindOf } from './kinds/index.ts';

export interface AllowedIdentity {
  /** Undefined: every organization. */
  readonly orgId: string | undefined;
  /** Pattern of a role, service account or application; `service` is that of the service itself. Undefined: all. */
  readonly identity: string | undefined;
}

export interface CloudIdentityRules {
  readonly cloudIdentities: readonly AllowedIdentity[];
  /** Base URLs that tokens are sent to besides those of the clouds. */
  readonly cloudIdentityUrls: readonly string[];
  readonly defaultUrls: DefaultUrls;
}

const ownIdentity = 'service';

/** `target` is what is used instead of the identity of the service itself. */
export function mayUseIdentity(
  { cloudIdentities }: Pick<CloudIdentityRules, 'cloudIdentities'>,
  org: string,
  target: string | undefined,
): boolean {
  return cloudIdentities.some(
    ({ orgId, identity }) =>
      (orgId === undefined || orgId === org) &&
      (identity === undefined || matches(identity, target ?? ownIdentity)),
  );
}

/** Hosts below the domain of a cloud are run by it, so that no user of the cloud receives the token. */
export function maySendIdentity(
  { cloudIdentityUrls, defaultUrls }: Omit<CloudIdentityRules, 'cloudIdentities'>,
  { kind, baseUrl }: { readonly kind: ConnectionKind; readonly baseUrl: string },
): boolean {
  const allowed = [...cloudIdentityUrls, ...(defaultUrls[kind] === undefined ? [] : [defaultUrls[kind]])];
  const { provider } = kindOf({ kind });
  return (
    allowed.some((url) => isSameUrl(url, baseUrl)) ||
    (baseUrl.startsWith('https:') && provider !== null && knownHostOf(baseUrl)?.provider === provider)
  );
}

/** `*` stands for any characters. */
function matches(pattern: string, target: string): boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) {
    return pattern === target;
  }
  let at = start.length;
  for (const part of rest) {
    const found = target.indexOf(part, at);
    if (found === -1) {
      return false;
    }
    at = found + part.length;
  }
  return target.startsWith(start) && target.length >= at + end.length && target.endsWith(end);
}
