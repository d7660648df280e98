import { describe, expect, test } from 'vitest';
import { apiError } from '../contract/api-error.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { withRequestLink } from './ask-for-more.ts';
import { ExplainedDenial } from './errors/explained-denial.ts';

const callerWith = (fields: Partial<Caller>): Caller => ({
  keyId: 'key_1',
  role: 'member',
  scopes: new Set(['gateway:call']),
  tenantId: 'org_1',
  ...fields,
});
const ofMember = callerWith({ attribution: { values: { member_id: 'mem_1' }, locked: ['member_id'] } });
const denial = (counterKey?: string) => {
  const error = apiError('conflict');
  Object.assign(error, { code: 'budget_exceeded', limitId: 'bud_1', counterKey });
  return error;
};
const linkFor = (error: unknown, caller: Caller) => {
  const linked = withRequestLink(error, caller, () => 'http://localhost:8080');
  return linked instanceof ExplainedDenial ? linked.explanation : undefined;
};

describe('the denial of a limit', () => {
  test('links to the form that asks for more, with the limit', () => {
    expect(linkFor(denial('bud_1@0'), ofMember)).toBe(
      'Ask for more: http://localhost:8080/console/raise-requests/new?limit_id=bud_1',
    );
  });

  test('names the value that a limit of each value has denied', () => {
    expect(linkFor(denial('bud_1@0:mem:1 &x'), ofMember)).toBe(
      'Ask for more: http://localhost:8080/console/raise-requests/new?limit_id=bud_1&scope_id=mem%3A1+%26x',
    );
  });

  test('has a link only for keys of people and keys that may ask', () => {
    const mayRead = new Set(['gateway:call', 'budgets:read']);
    expect(linkFor(denial(), callerWith({}))).toBeUndefined();
    expect(linkFor(denial(), callerWith({ scopes: mayRead }))).toBeDefined();
    expect(linkFor(denial(), callerWith({ scopes: mayRead, role: 'viewer' }))).toBeUndefined();
  });

  test('has no link if it cannot be raised', () => {
    const other = Object.assign(denial(), { code: 'credits_exhausted' });
    expect(linkFor(other, ofMember)).toBeUndefined();
    expect(linkFor(new Error('a'), ofMember)).toBeUndefined();
  });
});
