/** Signed links with which a recipient leaves a subscription, without signing in. They stay valid: old e-mails keep theirs. */
import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

export interface RecipientName {
  readonly orgId: string;
  readonly subscriptionId: string;
  readonly recipient: string;
}

export interface Unsubscribing {
  urlFor(name: RecipientName): string;
  /** Returns undefined if the token is not one of ours. */
  parse(token: string): RecipientName | undefined;
}

export const unsubscribePath = '/console/unsubscribe/{token}';
const tokenCharsMax = 2_000;

export function createUnsubscribing(secrets: Pick<Secrets, 'signer'>, baseUrl: () => string): Unsubscribing {
  const sign = secrets.signer('unsubscribe');
  return {
    urlFor({ orgId, subscriptionId, recipient }) {
      const content = Buffer.from(JSON.stringify([orgId, subscriptionId, recipient])).toString('base64url');
      return `${baseUrl()}${unsubscribePath.replace('{token}', `${content}.${sign(content).toString('base64url')}`)}`;
    },
    parse(token) {
      const [content = '', mac = ''] = token.length > tokenCharsMax ? [] : token.split('.');
      const given = Buffer.from(mac, 'base64url');
      const right = sign(content);
      if (given.length !== right.length || !timingSafeEqual(given, right)) {
        return undefined;
      }
      const [orgId, subscriptionId, recipient] = JSON.parse(
        Buffer.from(content, 'base64url').toString('utf8'),
      );
      return { orgId, subscriptionId, recipient };
    },
  };
}
