/** Shared helpers for tests of policies and approvals: rules, runs and approvals in one line each. */
import { expect } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import type { TestAnswer, TestOrg, World } from '../harness.ts';

export interface PolicyWorld {
  readonly org: TestOrg;
  /** A key with the role member, which posts the runs. */
  readonly runner: { readonly id: string; readonly secret: string };
  call(method: string, path: string, body?: unknown, key?: string): Promise<TestAnswer>;
  /** Creates a rule and returns its id. */
  rule(body: object): Promise<string>;
  run(body?: object, key?: string): Promise<TestAnswer>;
  /** Posts a run that requires an approval, and returns the id of the requested approval. */
  ask(body?: object): Promise<string>;
  approve(id: string, body?: object): Promise<TestAnswer>;
}

/** Creates a new org, so that rules of other tests do not apply. */
export async function policyWorld(world: World): Promise<PolicyWorld> {
  const org = await world.createOrg();
  const runner = await world.mintKey(org, 'member', scopes);
  const call: PolicyWorld['call'] = (method, path, body, key = org.ownerKey) =>
    world.request(method, `/v1/orgs/${org.id}${path}`, { key, ...(body !== undefined && { body }) });
  const run: PolicyWorld['run'] = (body = {}, key = runner.secret) =>
    world.request('POST', '/v1/runs', { key, body: { model: 'gpt-4o', cost_usd: '0.5', ...body } });
  return {
    org,
    runner,
    call,
    run,
    async rule(body) {
      const { status, json } = await call('POST', '/policies', { priority: 10, reason: 'because', ...body });
      expect([status, json.error]).toEqual([201, undefined]);
      return json.id;
    },
    async ask(body) {
      const { status, json } = await run(body);
      expect([status, json.error?.code]).toEqual([403, 'policy_approval_required']);
      return json.error.details.approval_id;
    },
    approve: (id, body) => call('POST', `/approvals/${id}/approve`, body),
  };
}

export const errorOf = ({ status, json }: TestAnswer) => [status, json?.error?.code, json?.error?.details];
