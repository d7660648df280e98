import { expect, test } from 'vitest';
import { type AllowedIdentity, maySendIdentity, mayUseIdentity } from './cloud-identities.ts';

const role = 'arn:aws:iam::123456789012:role/purser-a';
const allowed = (orgId: string | undefined, identity?: string): AllowedIdentity => ({ orgId, identity });

test.each([
  ['no organization is allowed by default', [], 'org_1', undefined, false],
  ['an organization that is listed', [allowed('org_1')], 'org_1', role, true],
  ['another organization', [allowed('org_1')], 'org_2', role, false],
  ['every organization', [allowed(undefined)], 'org_2', undefined, true],
  ['a role that matches', [allowed('org_1', 'arn:aws:iam::*:role/purser-*')], 'org_1', role, true],
  ['a role that does not', [allowed('org_1', 'arn:aws:iam::*:role/other-*')], 'org_1', role, false],
  ['the service itself is no role', [allowed('org_1', 'arn:*')], 'org_1', undefined, false],
  ['a role is not the service itself', [allowed('org_1', 'service')], 'org_1', role, false],
  ['the service itself', [allowed('org_1', 'service')], 'org_1', undefined, true],
  ['a pattern whose parts overlap', [allowed('org_1', 'ab*bc')], 'org_1', 'abc', false],
  ['a name with characters of an expression', [allowed('org_1', 'a.c')], 'org_1', 'abc', false],
])('%s', (_, cloudIdentities, org, target, expected) => {
  expect(mayUseIdentity({ cloudIdentities }, org, target)).toBe(expected);
});

test.each([
  ['azure_openai', 'https://models.openai.azure.com/openai/v1', true],
  ['azure_openai', 'http://models.openai.azure.com/openai/v1', false],
  ['azure_openai', 'https://openai.azure.com.example.com/openai/v1', false],
  ['azure_openai', 'https://api.openai.com/v1', false],
  ['azure_openai', 'https://proxy.example.com/v1', true],
  ['azure_openai', 'https://proxy.example.com/v2', false],
  ['openai', 'https://egress.example.com/v1', true],
  ['openai', 'https://api.openai.com/v1', true],
  ['openai', 'https://models.openai.azure.com/openai/v1', false],
  ['openai_compatible', 'https://api.openai.com/v1', false],
] as const)('a token for %s is sent to %s: %s', (kind, baseUrl, expected) => {
  const rules = {
    cloudIdentityUrls: ['https://proxy.example.com/v1'],
    defaultUrls: { openai: 'https://egress.example.com/v1' },
  };
  expect(maySendIdentity(rules, { kind, baseUrl })).toBe(expected);
});
