/** Requesting, deciding and using approvals, over HTTP. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { recordedOf } from '../../../../test/support/limits.ts';
import { errorOf, type PolicyWorld, policyWorld } from '../../../../test/support/policies.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';
import { scopes } from '../../../contract/scopes.ts';

const world = useWorld();
let here: PolicyWorld;
let ruleId: string;
beforeEach(async () => {
  here = await policyWorld(world);
  ruleId = await here.rule({ effect: 'require_approval', models: ['gpt-*'], reason: 'Ask first.' });
});

const read = async (id: string) => (await here.call('GET', `/approvals/${id}`)).json;
const listed = async (query = '') => (await here.call('GET', `/approvals${query}`)).json.data;
const inSeconds = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
const expire = () => world.runJob('expire-approvals');
/** Returns audit entries in order, and events sorted, because the order of events of the same instant is undefined. */
const moves = async () => {
  const { entries, events } = await recordedOf(world, here.org.id);
  return {
    audited: entries.filter((entry) => entry.target_kind === 'approval').map(({ action }) => action),
    told: events.map(({ type }) => type).sort(),
  };
};

describe('a run that needs an approval', () => {
  test('a run that needs an approval is denied with all details, and requests one approval per key, action, model and rule', async () => {
    const first = await here.run();
    const { approval_id } = first.json.error.details;
    expect(errorOf(first)).toEqual([
      403,
      'policy_approval_required',
      { reason: 'Ask first.', attempted: 'gpt-4o', rule_id: ruleId, approval_id },
    ]);
    expect(await here.ask()).toBe(approval_id);
    expect(await read(approval_id)).toEqual({
      id: approval_id,
      state: 'pending',
      rule_id: ruleId,
      rule_version: 1,
      reason: 'Ask first.',
      attempted: 'gpt-4o',
      key_id: here.runner.id,
      model: 'gpt-4o',
      action: null,
      requested_at: world.clock.now().toISOString(),
      expires_at: inSeconds(7 * 86_400),
      decided_at: null,
      decided_by: null,
      decision_reason: null,
      uses: null,
      uses_left: null,
      uses_made: 0,
      ended_at: null,
      ended_because: null,
      run_ids: [],
    });
    const others = [
      await here.ask({ model: 'gpt-5' }),
      await here.ask({ action: 'chat' }),
      (await here.run({}, here.org.ownerKey)).json.error.details.approval_id,
    ];
    expect(new Set([approval_id, ...others]).size).toBe(4);
    expect(await moves()).toEqual({
      audited: Array(4).fill('approvals.request'),
      told: Array(4).fill('approval.requested'),
    });
  });

  test('requests one approval even if sent many times concurrently', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => here.ask()));
    expect(new Set(ids).size).toBe(1);
    expect(await listed()).toHaveLength(1);
  });

  test('returns its index in a bulk request', async () => {
    const { json } = await world.request('POST', '/v1/runs/bulk', {
      key: here.runner.secret,
      body: { runs: ['small', 'gpt-4o'].map((model) => ({ model, cost_usd: '0.1' })) },
    });
    expect(json.error.details).toMatchObject({ run_index: 1, rule_id: ruleId, attempted: 'gpt-4o' });
  });
});

describe('an approval', () => {
  test('an approval for one use admits one run, and the second is denied', async () => {
    const id = await here.ask();
    const approved = await here.approve(id, { reason: 'For the release.' });
    expect([approved.status, approved.json]).toMatchObject([
      200,
      { state: 'approved', uses: 1, uses_left: 1, decision_reason: 'For the release.' },
    ]);
    const passed = await here.run();
    expect(passed.status).toBe(201);
    expect(await read(id)).toMatchObject({
      state: 'used',
      uses_left: 0,
      uses_made: 1,
      run_ids: [passed.json.id],
    });
    expect(await here.ask()).not.toBe(id);
    expect(await moves()).toEqual({
      audited: ['approvals.request', 'approvals.approve', 'approvals.use_up', 'approvals.request'],
      told: ['approval.approved', 'approval.requested', 'approval.requested', 'approval.used_up'],
    });
  });

  test('an approval is only valid for the key, model and action that requested it', async () => {
    await here.approve(await here.ask(), { uses: 100 });
    expect((await here.run()).status).toBe(201);
    await here.ask({ model: 'gpt-5' });
    await here.ask({ action: 'chat' });
    expect((await here.run({}, here.org.ownerKey)).status).toBe(403);
  });

  test('an approval for one use admits exactly one of fifty concurrent runs', async () => {
    await here.approve(await here.ask());
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        here.run(n % 2 === 0 ? {} : { status: 'running', estimated_cost_usd: '0.1', cost_usd: undefined }),
      ),
    );
    const codes = answers.map(({ status, json }) => (status === 201 ? 201 : json.error.code));
    expect(codes.filter((code) => code === 201)).toHaveLength(1);
    expect(codes.filter((code) => code === 'policy_approval_required')).toHaveLength(49);
    const { json } = await world.request('GET', '/v1/runs', { key: here.org.ownerKey });
    expect(json.data).toHaveLength(1);
    // The denied runs share one new request.
    expect(await listed('?state=pending')).toHaveLength(1);
  });

  test('an approval for a number of uses admits exactly that many runs, in one request or in many', async () => {
    const id = await here.ask();
    await here.approve(id, { uses: 5 });
    const bulk = (count: number) =>
      world.request('POST', '/v1/runs/bulk', {
        key: here.runner.secret,
        body: { runs: Array.from({ length: count }, () => ({ model: 'gpt-4o', cost_usd: '0.1' })) },
      });
    const tooMany = await bulk(6);
    expect(errorOf(tooMany)).toEqual([
      403,
      'policy_approval_required',
      { reason: 'Ask first.', attempted: 'gpt-4o', rule_id: ruleId, approval_id: id, run_index: 5 },
    ]);
    expect(await read(id)).toMatchObject({ state: 'approved', uses_left: 5 });
    expect((await bulk(3)).status).toBe(201);
    expect(await read(id)).toMatchObject({ state: 'approved', uses_left: 2, uses_made: 3 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => here.run()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(await read(id)).toMatchObject({ state: 'used', uses_left: 0, uses_made: 5 });
  });

  test('an approval is not used by a run that a later check denies', async () => {
    await here.call('PUT', '/spend-cap', { cap_usd: '1' });
    const id = await here.ask();
    await here.approve(id);
    expect((await here.run({ cost_usd: '2' })).json.error.code).toBe('spend_cap_exceeded');
    expect(await read(id)).toMatchObject({ state: 'approved', uses_left: 1 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => here.run({ cost_usd: n % 2 === 0 ? '2' : '0.5' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await read(id)).toMatchObject({ state: 'used', uses_made: 1 });
  });

  test('an approval is used once by a run that is sent twice', async () => {
    const id = await here.ask();
    await here.approve(id);
    const first = await here.run({ external_id: 'mine' });
    expect(first.status).toBe(201);
    const again = await here.run({ external_id: 'mine' });
    expect([again.status, again.json.id]).toEqual([201, first.json.id]);
    expect(await read(id)).toMatchObject({ state: 'used', uses_made: 1 });
    expect(await listed()).toHaveLength(1);
  });

  test('until a time admits any number of runs before it and none after it', async () => {
    const id = await here.ask();
    await here.approve(id, { until: inSeconds(60) });
    expect(await read(id)).toMatchObject({ uses: null, uses_left: null, expires_at: inSeconds(60) });
    for (let i = 0; i < 3; i += 1) {
      expect((await here.run()).status).toBe(201);
    }
    world.clock.advanceSeconds(59);
    expect((await here.run()).status).toBe(201);
    world.clock.advanceSeconds(1);
    expect(await here.ask()).not.toBe(id);
    expect(await read(id)).toMatchObject({ state: 'expired', ended_because: 'time', uses_made: 4 });
  });

  test('an approval that expires does not affect admitted runs; later runs are denied', async () => {
    const id = await here.ask();
    await here.approve(id, { uses: 2, until: inSeconds(60) });
    const running = await here.run({ status: 'running', estimated_cost_usd: '0.1', cost_usd: undefined });
    expect(running.status).toBe(201);
    world.clock.advanceSeconds(60);
    await expire();
    expect(await read(id)).toMatchObject({ state: 'expired', uses_left: 1, uses_made: 1 });
    const completed = await world.request('POST', `/v1/runs/${running.json.id}/complete`, {
      key: here.runner.secret,
      body: { cost_usd: '0.2' },
    });
    expect(completed.status).toBe(200);
    await here.ask();
    expect((await moves()).told).toEqual([
      'approval.approved',
      'approval.expired',
      'approval.requested',
      'approval.requested',
    ]);
  });

  test('an approval that expires between the policy check and the posting admits nothing', async () => {
    const id = await here.ask();
    await here.approve(id, { until: inSeconds(60) });
    // The approval is valid at the time of the request, which the policy check uses, but has expired when the ledger
    // checks it.
    world.fault = (_, routeId) => {
      if (routeId === 'runs.create') {
        world.fault = undefined;
        world.clock.advanceSeconds(61);
      }
    };
    expect(await here.ask()).toBe(id);
    expect(await read(id)).toMatchObject({ uses_made: 0 });
    expect(await here.ask()).not.toBe(id);
  });
});

describe('deciding', () => {
  /** Invites an admin and signs them in. */
  const signedIn = async (email: string) => {
    const invited = await here.call('POST', '/members', { email, role: 'admin' });
    const joined = await postForm(world, new URL(invited.json.sign_in_url).pathname, {});
    const headers = { cookie: cookieOf(joined), 'sec-fetch-site': 'same-origin' };
    const call = (method: string, path: string, body: object) =>
      world.request(method, path, { headers, body });
    const run = { model: 'gpt-4o', cost_usd: '0.5' };
    return {
      id: invited.json.id as string,
      call,
      createKey: async (more = {}): Promise<string> => {
        const body = { name: 'a', role: 'admin', scopes, ...more };
        return (await call('POST', `/v1/orgs/${here.org.id}/keys`, body)).json.secret;
      },
      ask: async (): Promise<string> => (await call('POST', '/v1/runs', run)).json.error.details.approval_id,
      approve: (id: string) => call('POST', `/v1/orgs/${here.org.id}/approvals/${id}/approve`, {}),
    };
  };
  const approveWith = (key: string, id: string) => here.call('POST', `/approvals/${id}/approve`, {}, key);

  test('an approval cannot be decided with the requesting key, whatever its role, nor with its successors', async () => {
    const admin = await world.mintKey(here.org, 'admin', scopes);
    const { approval_id } = (await here.run({}, admin.secret)).json.error.details;
    for (const verb of ['approve', 'deny']) {
      const own = await here.call('POST', `/approvals/${approval_id}/${verb}`, undefined, admin.secret);
      expect(errorOf(own)).toEqual([403, 'forbidden', {}]);
    }
    const rotated = await here.call('POST', `/keys/${admin.id}/rotate`, { overlap_seconds: 60 });
    const successor = await here.call(
      'POST',
      `/approvals/${approval_id}/approve`,
      undefined,
      rotated.json.secret,
    );
    expect(errorOf(successor)).toEqual([403, 'forbidden', {}]);
    const member = await world.mintKey(here.org, 'member', scopes);
    const low = await here.call('POST', `/approvals/${approval_id}/approve`, undefined, member.secret);
    expect(errorOf(low)).toEqual([403, 'forbidden', {}]);
    expect(await read(approval_id)).toMatchObject({ state: 'pending' });
    expect((await here.approve(approval_id)).status).toBe(200);
  });

  test('a member cannot decide a request of their own key, nor the other way round', async () => {
    const ada = await signedIn('ada@example.com');
    const bob = await signedIn('bob@example.com');
    const first = await ada.createKey();
    const second = await ada.createKey();
    const byKey = (await here.run({}, first)).json.error.details.approval_id;
    expect(errorOf(await ada.approve(byKey))).toEqual([403, 'forbidden', {}]);
    expect(errorOf(await approveWith(second, byKey))).toEqual([403, 'forbidden', {}]);
    expect((await bob.approve(byKey)).status).toBe(200);

    const bySession = await ada.ask();
    expect(errorOf(await approveWith(first, bySession))).toEqual([403, 'forbidden', {}]);
    expect((await approveWith(await bob.createKey(), bySession)).status).toBe(200);
  });

  test('an approval cannot be decided with a service key that the requesting member has created or rotated', async () => {
    const ada = await signedIn('ada@example.com');
    const service = { attribution: { member_id: null } };
    const created = await ada.createKey(service);
    const other = await world.mintKey(here.org, 'admin', scopes);
    const rotated = await ada.call('POST', `/v1/orgs/${here.org.id}/keys/${other.id}/rotate`, {});
    const byCreated = await here.call('POST', '/keys', { name: 'b', role: 'admin', scopes }, created);
    const bySession = await ada.ask();
    const byOwnKey = (await here.run({}, await ada.createKey())).json.error.details.approval_id;
    for (const id of [bySession, byOwnKey]) {
      for (const key of [created, rotated.json.secret, byCreated.json.secret]) {
        expect(errorOf(await approveWith(key, id))).toEqual([403, 'forbidden', {}]);
      }
      expect((await here.approve(id)).status).toBe(200);
    }
    // The key acts for a service: its own requests are not those of the member.
    const byService = (await here.run({}, created)).json.error.details.approval_id;
    expect((await ada.approve(byService)).status).toBe(200);
  });

  test('a member who was removed and invited again cannot decide earlier requests of their own', async () => {
    const before = await signedIn('ada@example.com');
    const ownKey = await before.createKey();
    const service = await before.createKey({ attribution: { member_id: null } });
    const earlier = (await here.run({}, ownKey)).json.error.details.approval_id;
    expect((await here.call('DELETE', `/members/${before.id}`)).status).toBe(204);
    const again = await signedIn('ada@example.com');
    expect(again.id).not.toBe(before.id);
    expect(errorOf(await again.approve(earlier))).toEqual([403, 'forbidden', {}]);
    const later = await again.ask();
    expect(errorOf(await approveWith(service, later))).toEqual([403, 'forbidden', {}]);
    // A key of a member is revoked with the member.
    expect(errorOf(await approveWith(ownKey, later))).toEqual([410, 'gone', {}]);
    expect((await (await signedIn('bob@example.com')).approve(earlier)).status).toBe(200);
  });

  test('stores the reason of a denial, and the next attempt requests a new approval', async () => {
    const id = await here.ask();
    const denied = await here.call('POST', `/approvals/${id}/deny`, { reason: 'No.' });
    expect([denied.status, denied.json]).toMatchObject([200, { state: 'denied', decision_reason: 'No.' }]);
    expect(await here.ask()).not.toBe(id);
    expect((await moves()).told).toEqual(['approval.denied', 'approval.requested', 'approval.requested']);
  });

  test('two concurrent decisions: one succeeds, the other is a conflict', async () => {
    const admin = await world.mintKey(here.org, 'admin', scopes);
    for (let round = 0; round < 5; round += 1) {
      const id = await here.ask({ action: `round ${round}` });
      const answers = await Promise.all([
        here.approve(id),
        here.call('POST', `/approvals/${id}/deny`, {}, admin.secret),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const winner = answers.find(({ status }) => status === 200);
      expect(await read(id)).toMatchObject({ state: winner?.json.state });
    }
  });

  test('an approval can only be decided while it is pending', async () => {
    const decided = async (id: string) => [
      errorOf(await here.approve(id)).slice(0, 2),
      errorOf(await here.call('POST', `/approvals/${id}/deny`)).slice(0, 2),
    ];
    const conflicts = [
      [409, 'conflict'],
      [409, 'conflict'],
    ];
    const approved = await here.ask();
    await here.approve(approved);
    expect(await decided(approved)).toEqual(conflicts);
    await here.run();
    expect(await read(approved)).toMatchObject({ state: 'used' });
    expect(await decided(approved)).toEqual(conflicts);
    const denied = await here.ask();
    await here.call('POST', `/approvals/${denied}/deny`);
    expect(await decided(denied)).toEqual(conflicts);
    const expired = await here.ask();
    world.clock.advanceSeconds(7 * 86_400);
    // Expired requests conflict even before the expiry job has run.
    expect(await decided(expired)).toEqual(conflicts);
    await expire();
    expect(await decided(expired)).toEqual(conflicts);
  });

  test('requires a time in the future, at most a year ahead, and at least one use', async () => {
    const id = await here.ask();
    for (const body of [{ until: inSeconds(0) }, { until: inSeconds(367 * 86_400) }, { uses: 0 }]) {
      expect((await here.approve(id, body)).status).toBe(422);
    }
    expect(await read(id)).toMatchObject({ state: 'pending' });
  });
});

describe('a rule that is changed', () => {
  const change = (body: object) => here.call('PATCH', `/policies/${ruleId}`, body);

  test('between request and decision ends the request, and the next attempt requests a new approval', async () => {
    const id = await here.ask();
    await change({ reason: 'Ask twice.' });
    expect(await read(id)).toMatchObject({ state: 'expired', ended_because: 'rule_changed' });
    expect(errorOf(await here.approve(id)).slice(0, 2)).toEqual([409, 'conflict']);
    const next = await here.ask();
    expect(await read(next)).toMatchObject({ rule_version: 2, reason: 'Ask twice.' });
    expect((await moves()).told).toEqual(['approval.expired', 'approval.requested', 'approval.requested']);
  });

  test('between approval and use ends the approval', async () => {
    const id = await here.ask();
    await here.approve(id, { uses: 10 });
    expect((await here.run()).status).toBe(201);
    await change({ models: ['gpt-4*'] });
    expect(await here.ask()).not.toBe(id);
    expect(await read(id)).toMatchObject({ state: 'expired', uses_left: 9 });
  });

  test('a rule that is changed, disabled or deleted also ends its approvals', async () => {
    const one = await here.ask();
    await change({ enabled: false });
    expect(await read(one)).toMatchObject({ state: 'expired' });
    await change({ enabled: true });
    const other = await here.ask();
    await here.call('DELETE', `/policies/${ruleId}`);
    expect(await read(other)).toMatchObject({ state: 'expired' });
    expect((await here.run()).status).toBe(201);
  });

  test('during concurrent use: every run is admitted or denied, and the count is exact', async () => {
    const id = await here.ask();
    await here.approve(id, { uses: 30 });
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, () => here.run())),
      change({ reason: 'Changed.' }),
    ]);
    const passed = answers.filter(({ status }) => status === 201).length;
    expect((await read(id)).uses_made).toBe(passed);
  });
});

describe('reading', () => {
  test('lists by state, rule, key, model and action', async () => {
    const first = await here.ask({ model: 'gpt-5', action: 'chat' });
    await here.ask();
    await here.approve(first);
    const ids = async (query: string) => (await listed(query)).map(({ id }: { id: string }) => id);
    expect(await ids('?state=approved')).toEqual([first]);
    expect(await ids('?model=gpt-5&action=chat')).toEqual([first]);
    expect(await ids(`?rule_id=${ruleId}&key_id=${here.runner.id}`)).toHaveLength(2);
    expect(await ids('?key_id=key_other')).toEqual([]);
    expect((await here.call('GET', '/approvals?state=lost')).status).toBe(422);
  });

  test('another org can neither read nor decide', async () => {
    const id = await here.ask();
    const other = await policyWorld(world);
    for (const [method, path] of [
      ['GET', `/approvals/${id}`],
      ['POST', `/approvals/${id}/approve`],
      ['POST', `/approvals/${id}/deny`],
    ] as const) {
      expect(errorOf(await other.call(method, path))).toEqual([404, 'not_found', {}]);
    }
    expect((await other.call('GET', '/approvals')).json.data).toEqual([]);
    expect(await read(id)).toMatchObject({ state: 'pending' });
  });
});
