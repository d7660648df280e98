/**
 * Cache of the metadata of OIDC issuers. Concurrent sign-ins share one fetch, and the result is cached for a minute. Anyone can
 * start a sign-in, and any org can configure its own issuer. So the number of entries is limited, and an entry only has the fields
 * that are used.
 */
import * as oidc from 'openid-client';
import type { OutboundFetch } from '../../../platform/outbound/fetch.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { checkedAnswer } from './provider-answer.ts';

const cachedMs = 60_000;
const entriesMax = 1_000;
/** Maximum size of these fields as JSON. */
const metadataBytesMax = 8_192;

const usedFields = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'token_endpoint_auth_methods_supported',
  'authorization_response_iss_parameter_supported',
  'id_token_signing_alg_values_supported',
  'userinfo_signing_alg_values_supported',
] as const satisfies readonly (keyof oidc.ServerMetadata)[];

export type IssuerMetadata = Pick<oidc.ServerMetadata, (typeof usedFields)[number]>;

export interface DiscoveryDependencies {
  readonly fetch: OutboundFetch;
  readonly allowPrivateNetworks: boolean;
  readonly clock: Clock;
}

export interface Discovery {
  metadataOf(issuer: string): Promise<IssuerMetadata>;
  /** Number of cached issuers. */
  readonly entries: number;
}

interface CachedIssuer {
  readonly found: Promise<IssuerMetadata>;
  readonly endsAtMs: number;
}

export function createDiscovery({ fetch, allowPrivateNetworks, clock }: DiscoveryDependencies): Discovery {
  /** Issuers, least recently used first. */
  const cache = new Map<string, CachedIssuer>();

  function dropExpired(nowMs: number): void {
    for (const [issuer, { endsAtMs }] of cache) {
      if (endsAtMs <= nowMs) {
        cache.delete(issuer);
      }
    }
  }

  function begin(issuer: string, nowMs: number): CachedIssuer {
    const [leastRecentlyUsed] = cache.keys();
    if (leastRecentlyUsed !== undefined && cache.size >= entriesMax) {
      cache.delete(leastRecentlyUsed);
    }
    const entry = { found: discover(issuer), endsAtMs: nowMs + cachedMs };
    entry.found.catch(() => {
      if (cache.get(issuer) === entry) {
        cache.delete(issuer);
      }
    });
    return entry;
  }

  async function discover(issuer: string): Promise<IssuerMetadata> {
    // Discovery does not depend on the client, so any client id can be passed.
    const configuration = await oidc.discovery(new URL(issuer), 'any', undefined, oidc.None(), {
      [oidc.customFetch]: async (url, options) => checkedAnswer(await fetch(url, options)),
      execute: allowPrivateNetworks ? [oidc.allowInsecureRequests] : [],
    });
    const server = configuration.serverMetadata();
    if (server.issuer !== issuer) {
      throw new Error(`the provider calls itself ${server.issuer}`);
    }
    const entries = usedFields.flatMap((field) =>
      server[field] === undefined ? [] : [[field, server[field]] as const],
    );
    const text = JSON.stringify(Object.fromEntries(entries));
    if (Buffer.byteLength(text) > metadataBytesMax) {
      throw new Error(`the metadata has more than ${metadataBytesMax} bytes of what is used of it`);
    }
    return JSON.parse(text) as IssuerMetadata;
  }

  return {
    metadataOf(issuer) {
      const nowMs = clock.now().getTime();
      dropExpired(nowMs);
      const entry = cache.get(issuer) ?? begin(issuer, nowMs);
      // Moves the entry to the end, because it is now the most recently used one.
      cache.delete(issuer);
      cache.set(issuer, entry);
      return entry.found;
    },
    get entries() {
      return cache.size;
    },
  };
}
