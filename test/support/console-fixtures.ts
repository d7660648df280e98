/** Creates one resource of every kind, so that every page is linked and every list has a row. */
import { expect } from 'vitest';
import type { TestOrg, World } from '../harness.ts';
import { storedToolSignIn } from './device-sign-in.ts';
import { pendingPriceChange } from './price-updates.ts';
import { statementBody } from './statement-files.ts';

/** A mail server that the worlds with these fixtures need. Nothing is sent to it. */
export const mailSettings = {
  SVC_SMTP_URL: 'smtp://localhost:9',
  SVC_SMTP_FROM: 'purser@example.com',
};

export async function createFixtures(world: World, org: TestOrg): Promise<void> {
  const asOwner = { key: org.ownerKey };
  const asOperator = { key: world.operatorKey };
  const run = { model: 'm', cost_usd: '1', workflow: 'triage', customer_id: 'a/b & c', action: 'plan' };
  for (const [path, body] of [
    ['/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '50' }],
    ['/customer-limits', { customer_id: '*', period: 'month', limit_usd: '5' }],
    ['/credit-packs', { customer_id: 'a/b & c', amount_usd: '20' }],
    ['/policies', { effect: 'block', models: ['x'], priority: 1, reason: 'No.' }],
    ['/safety-detectors', { name: 'words', kind: 'words', words: ['x'], action: 'flag' }],
    ['/statements', statementBody()],
    ['/capacity-scenarios', { name: 'Growth', changes: { teams: 2 } }],
    ['/members', { email: 'ada@example.com', role: 'viewer' }],
    ['/connections', { name: 'openai', kind: 'openai', api_key: 'sk-0123456789abcdef', models: ['gpt-*'] }],
    ['/webhooks', { url: 'https://hooks.example.com', events: ['*'] }],
  ] as const) {
    const made = await world.request('POST', `/v1/orgs/${org.id}${path}`, { ...asOwner, body });
    expect([path, made.status]).toEqual([path, 201]);
  }
  await storedToolSignIn(world, org);
  const webhooks = `/v1/orgs/${org.id}/webhooks`;
  const [webhook] = (await world.request('GET', webhooks, asOwner)).json.data;
  await world.request('POST', `${webhooks}/${webhook.id}/test`, asOwner);
  const emails = `/v1/orgs/${org.id}/email-subscriptions`;
  const email = await world.request('POST', emails, {
    ...asOwner,
    body: { recipients: ['ops@example.com'], digest: 'weekly' },
  });
  expect(email.status).toBe(201);
  await world.request('POST', `${emails}/${email.json.id}/test`, asOwner);
  await world.request('POST', '/v1/runs', { ...asOwner, body: run });
  // A denied request, which is listed once it was written.
  expect((await world.request('POST', '/v1/runs', { ...asOwner, body: { ...run, model: 'x' } })).status).toBe(
    403,
  );
  await world.runJob('record-refusals');
  await world.request('PUT', `/v1/orgs/${org.id}/unpriced-policy`, {
    ...asOwner,
    body: { on_unpriced: 'hold_default', input_usd_per_million: '5', output_usd_per_million: '20' },
  });
  // The latest run, which the list links first: runs of the same time are in any order.
  world.clock.advanceSeconds(1);
  await world.request('POST', '/v1/runs', { ...asOwner, body: { model: 'no price', input_tokens: 1 } });
  await world.request('POST', '/v1/benchmarks/cohorts', {
    ...asOwner,
    body: { name: 'Peers', criteria: {} },
  });
  const price = { input_usd_per_million: '1', output_usd_per_million: '2' };
  await world.request('PUT', '/v1/admin/models/m', { ...asOperator, body: price });
  await world.request('PUT', `/v1/admin/orgs/${org.id}/prices/m`, {
    ...asOperator,
    body: { discount_percent: '20' },
  });
}

/** Creates pending requests, holds and grants, so that every button is shown. */
export async function createPendingWork(world: World, org: TestOrg): Promise<void> {
  const asOwner = { key: org.ownerKey };
  const api = (method: string, path: string, body?: object) =>
    world.request(method, `/v1/orgs/${org.id}${path}`, { ...asOwner, ...(body && { body }) });
  await api('POST', '/policies', {
    effect: 'require_approval',
    actions: ['drop'],
    priority: 2,
    reason: 'Two pairs of eyes.',
  });
  const { secret } = await world.mintKey(org, 'member', ['runs:write']);
  const dropped = { model: 'm', cost_usd: '1', action: 'drop' };
  await world.request('POST', '/v1/runs', { key: secret, body: dropped });
  await world.request('POST', '/v1/edge/decision', {
    ...asOwner,
    body: { model: 'm', estimated_cost_usd: '0.5' },
  });
  const [{ id: limit_id }] = (await api('GET', '/budgets')).json.data;
  const asker = await world.mintKey(org, 'member', ['budgets:read']);
  const until = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  await world.request('POST', `/v1/orgs/${org.id}/raise-requests`, {
    key: asker.secret,
    body: { limit_id, amount_usd: '5', until, reason: 'The migration is half done.' },
  });
  await api('POST', '/evals', { suite: 's', model: 'm', score: 0.9, samples: 3 });
  await api('PUT', '/spend-cap', { cap_usd: '100' });
  await pendingPriceChange(world, 'maker/fluctuating');
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  for (const approval_required of [false, true]) {
    await api('PUT', '/support-access/settings', { allowed: true, approval_required });
    await world.request('POST', '/v1/admin/support/grants', {
      key: world.operatorKey,
      body: { org_id: org.id, scope: ['runs:read'], reason: 'Ticket 4711', expires_at },
    });
  }
}
