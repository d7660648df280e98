import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../contract/api-error.ts';
import { addressList } from '../message/address.ts';
import { type AccessRequest, admitCaller, type Credential } from './access.ts';

const now = new Date('2026-11-15T12:00:00Z');
const scope = 'webhooks:write';

type Cause = keyof typeof fixes;
/** The causes of a rejection in the order of their checks, each with the change that removes it. */
const fixes = {
  revoked: { revoked: false },
  expired: { expiresAt: null },
  address: { allowList: null },
  suspended: { suspended: false },
  tenant: { id: 'org_path' },
  region: { residency: null },
  support: { support: undefined },
  scope: { scopes: new Set<string>([scope]) },
  role: { role: 'admin' },
} as const;

/** A credential with every cause except those that are fixed. */
function credentialWithout(fixed: readonly Cause[]): Credential {
  const change = Object.assign({}, ...fixed.map((cause) => fixes[cause])) as Partial<
    Credential & NonNullable<Credential['org']>
  >;
  const org = {
    id: 'org_other',
    name: 'Other',
    timezone: 'UTC',
    suspended: true,
    allowList: addressList(['192.0.2.0/24']),
    residency: { homeRegion: 'eu', mode: 'strict', isHere: false },
  } as const;
  const own = {
    keyId: 'key_1',
    role: 'viewer',
    scopes: new Set<string>(),
    notBefore: null,
    expiresAt: now,
    revoked: true,
    endsAt: null,
    support: { grantId: 'g', sessionId: 's', operatorKeyId: 'o', reason: 'r', scope: [] },
  } as const;
  return { ...own, ...change, org: { ...org, ...change } };
}

function outcomeOf(access: AccessRequest['access'], credential: Credential): string {
  try {
    const request = { method: 'POST', pathOrgId: 'org_path', address: '198.51.100.1', now };
    return `admitted to ${admitCaller({ ...request, access, credential }).tenantId}`;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}

describe.each<[string, AccessRequest['access'], string]>([
  ['of an org', { kind: 'org', scope, role: 'admin' }, 'not_found'],
  // Under /v1/admin a caller who is not an operator may only know that other orgs are not for them.
  ['for operators and admins', { kind: 'operator_or_admin', scope }, 'forbidden'],
])('a route %s', (_, access, otherTenant) => {
  test('reports the first of several causes, in the order of the contract', () => {
    const causes = Object.keys(fixes) as Cause[];
    const outcomes = [...causes.keys(), causes.length].map((count) =>
      outcomeOf(access, credentialWithout(causes.slice(0, count))),
    );
    expect(outcomes).toEqual([
      'gone',
      'key_expired',
      'ip_not_allowed',
      'org_suspended',
      otherTenant,
      'residency_violation',
      'support_scope_denied',
      'missing_scope',
      'forbidden',
      'admitted to org_path',
    ]);
  });
});
