/** The components that identify callers: API keys, sessions, links that open sessions, and support access. */

import { createUserCodeDigest } from '../capabilities/access/device-grant/index.ts';
import { createCredentials, createKeyUses, createTokenLookups } from '../capabilities/access/keys/index.ts';
import { createMemberLinks } from '../capabilities/access/members/index.ts';
import { consoleLinks, createSessions } from '../capabilities/access/sessions/index.ts';
import { requiresSso } from '../capabilities/access/sso/index.ts';
import {
  admitsWithoutApproval,
  createConsoleEntry,
  createImpersonation,
} from '../capabilities/access/support/index.ts';
import { createToolCredentials, createToolSignIns } from '../capabilities/access/tool-sign-ins/index.ts';
import type { createRegions } from '../capabilities/compliance/residency/index.ts';
import { AuthBackoff } from '../platform/http/pipeline/auth-backoff.ts';
import type { AppDependencies } from './dependencies.ts';

export function createAccessComponents(
  { config, db, clock, ids, log, faults, services, baseUrl }: AppDependencies,
  regions: ReturnType<typeof createRegions>,
) {
  const { secrets, auditHeads: heads } = services;
  const { region } = config;
  const keyUses = createKeyUses({ db, clock });
  const lookups = createTokenLookups();
  const credentials = createCredentials(db, {
    acceptLastKnown: config.edgeFailMode === 'open',
    region,
    used: keyUses.used,
    lookups,
  });
  const toolCredentials = createToolCredentials(db, { region, lookups });
  const impersonation = createImpersonation({ db, clock, ids, heads, log, faults, region, lookups });
  const sessions = createSessions({ db, ids, secrets, lifetimes: config, region, baseUrl });
  const backoff = new AuthBackoff(config.authBackoffAttempts, clock);
  return {
    keyUses,
    credentials,
    impersonation,
    toolSignIns: createToolSignIns({ ids, secrets, lifetimes: config }),
    digestOfUserCode: createUserCodeDigest(secrets),
    /** Returns the cached credential of a key or a tool. */
    peekCredential: (token: string) => credentials.peek(token) ?? toolCredentials.peek(token),
    findCredential: async (token: string, address: string) =>
      (await toolCredentials.find(token, address)) ??
      (await credentials.find(token, address)) ??
      (regions && lookups.run(address, () => regions.findCredential(token))),
    sessions,
    backoff,
    links: consoleLinks({ db, ids, heads, secrets, sessions, admitsWithoutApproval, baseUrl }),
    memberLinks: createMemberLinks({ db, secrets, baseUrl, requiresSso }),
    supportEntry: createConsoleEntry({ impersonation, backoff, baseUrl }),
  };
}
