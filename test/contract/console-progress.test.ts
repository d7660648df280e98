/** Long work of a page shows its progress, also without JavaScript, and never looks complete if it is not. */
import { afterEach, beforeAll, expect, test } from 'vitest';
import { appendDated } from '../../src/capabilities/compliance/audit/audit.ts';
import { lockChain } from '../../src/capabilities/compliance/audit/head-queries.ts';
import { type AuditRow, entryOfRow } from '../../src/capabilities/compliance/audit/queries.ts';
import { DatabaseUnavailable } from '../../src/platform/db/database.ts';
import type { FaultPoint } from '../../src/platform/faults.ts';
import { useOrg, useWorld } from '../harness.ts';
import { cookieOf, formType, postForm, signIn } from '../support/sign-in.ts';
import { subscribe } from '../support/webhooks.ts';

const world = useWorld();
const org = useOrg(world);
let cookie: string;
let url: string;
beforeAll(async () => {
  ({ cookie } = await signIn(world, org.ownerKey, org.id));
  ({ url } = await world.listen());
  await api('POST', '/v1/runs/bulk?enforcement=record', {
    runs: [40, 20, 1].map((days) => ({
      model: 'm',
      cost_usd: '1',
      started_at: new Date(world.clock.now().getTime() - days * 86_400_000).toISOString(),
    })),
  });
  await fillAuditLog();
});
/** Appends more entries than fit into one batch. */
async function fillAuditLog(): Promise<void> {
  await world.db.transaction(async (tx) => {
    const [row] = await tx.query('SELECT * FROM audit_log WHERE tenant_id = $1 LIMIT 1', [org.id]);
    const entry = entryOfRow(row as unknown as AuditRow);
    await appendDated(
      tx,
      world.services.auditHeads,
      org.id,
      await lockChain(tx, org.id),
      Array(510).fill(entry),
    );
  });
}

afterEach(() => {
  world.fault = undefined;
});

async function api(method: string, path: string, body?: object): Promise<void> {
  const { status, text } = await world.request(method, path, { key: org.ownerKey, ...(body && { body }) });
  expect(status, text).toBeLessThan(300);
}

interface Work {
  readonly page: string;
  readonly fields?: Record<string, string>;
  readonly route: string;
  /** The step at which the test stops the work. */
  readonly stop: number;
  readonly title: string;
  readonly step: RegExp;
  readonly result: string;
}

const rule = { effect: 'block', models: 'm', priority: '1', reason: 'No.', enabled: 'true', attempt: 'yes' };
const simulation: Work = {
  page: '/console/policies/new',
  fields: rule,
  route: 'policies.simulate',
  stop: 2,
  title: 'Create rule',
  step: /2 of 3 runs/,
  result: 'Would change',
};
const works: Work[] = [
  simulation,
  {
    page: '/console/audit/verify',
    route: 'audit.verify',
    stop: 1,
    title: 'Verification',
    step: /500 of 5\d\d entries/,
    result: 'Log intact',
  },
  {
    page: '/console/limits/reconcile',
    route: 'ledger.reconciliation',
    stop: 2,
    title: 'Reconciliation',
    step: /\d+ of 40 days/,
    result: 'All balanced',
  },
];

interface Stopped {
  /** Resolves when the work has reached the step. */
  readonly reached: Promise<void>;
  goOn(error?: Error): void;
}

/** Stops the work at a step, until it is resumed or ended with an error. */
function stopAt(route: string, stepNumber: number, step: FaultPoint = 'progress'): Stopped {
  let release: (error?: Error) => void = () => {};
  const released = new Promise<void>((resolve, reject) => {
    release = (error) => (error === undefined ? resolve() : reject(error));
  });
  let steps = 0;
  const reached = new Promise<void>((resolve) => {
    world.fault = (point, about) => {
      if (point !== step || about !== route) {
        return undefined;
      }
      steps += 1;
      if (steps !== stepNumber) {
        return undefined;
      }
      resolve();
      return released;
    };
  });
  return { reached, goOn: (error) => release(error) };
}

const send = ({ page, fields = {} }: Pick<Work, 'page' | 'fields'>, as = cookie) =>
  fetch(`${url}${page}`, {
    method: 'POST',
    headers: { cookie: as, 'content-type': formType },
    body: new URLSearchParams(fields),
  });

/** Reads a page while it is streamed. */
function reader(answer: Response) {
  const chunks = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    async until(isThere: (text: string) => boolean): Promise<string> {
      for (;;) {
        if (isThere(text)) {
          return text;
        }
        const { done, value } = await chunks.read();
        if (done) {
          return text;
        }
        text += decoder.decode(value, { stream: true });
      }
    },
  };
}

test.each(works)('$route: shows the progress, then the result', async (work) => {
  const stopped = stopAt(work.route, work.stop);
  const answer = await send(work);
  expect(answer.status).toBe(200);
  const page = reader(answer);
  // On a slow machine an earlier step is shown too.
  const begun = await page.until((text) => work.step.test(text));
  expect(begun).toMatch(work.step);
  expect(begun).toContain(`<title>${work.title} · Purser</title>`);
  expect(begun).not.toContain(work.result);
  stopped.goOn();
  const whole = await page.until(() => false);
  expect(whole.slice(begun.length)).toContain(work.result);
  expect(whole).toMatch(/<\/main><\/div><\/body><\/html>$/);
});

test('steps are shown in order', async () => {
  const first = stopAt(simulation.route, 1);
  const page = reader(await send(simulation));
  await page.until((text) => text.includes('1 of 3 runs'));
  const second = stopAt(simulation.route, 1);
  first.goOn();
  expect(await page.until((text) => text.includes('2 of 3 runs'))).not.toContain(simulation.result);
  second.goOn();
  expect(await page.until(() => false)).toContain(simulation.result);
});

test('work that fails halfway ends with the error', async () => {
  for (const work of works) {
    const stopped = stopAt(work.route, 1);
    const page = reader(await send(work));
    await page.until((text) => text.includes('</progress>'));
    stopped.goOn(new DatabaseUnavailable('away'));
    const whole = await page.until(() => false);
    expect(whole).toContain('A dependency is unavailable');
    expect(whole).not.toContain(work.result);
  }
});

const asOperator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin/${path}`, { key: world.operatorKey, ...(body && { body }) });

const signedOut = 'You are no longer signed in';

/** Starts a session for the work; `end` ends the session. */
async function enterAsSupport() {
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const scope = ['policies:read', 'policies:write', 'audit:read', 'budgets:read'];
  const grant = { org_id: org.id, scope, reason: 'Ticket 4711', expires_at };
  const { id } = (await asOperator('POST', 'support/grants', grant)).json;
  const { token } = (await asOperator('POST', `support/grants/${id}/sessions`)).json;
  const as = cookieOf(await postForm(world, '/console/support', { token }));
  return { as, end: () => asOperator('DELETE', `support/grants/${id}`) };
}

async function enterAsAnother() {
  const { cookie: as, id } = await signIn(world, org.ownerKey, org.id);
  return { as, end: () => api('DELETE', `/v1/orgs/${org.id}/sessions/${id}`) };
}

test.each([
  ['session', enterAsAnother],
  ['support grant', enterAsSupport],
])('work that was started in a %s ends with it, and shows no result', async (_, enter) => {
  for (const work of works) {
    const { as, end } = await enter();
    const stopped = stopAt(work.route, 1);
    const page = reader(await send(work, as));
    await page.until((text) => text.includes('</progress>'));
    await end();
    world.clock.advanceSeconds(1);
    stopped.goOn();
    const whole = await page.until(() => false);
    expect(whole).toContain(signedOut);
    expect(whole).not.toContain(work.result);
    expect(whole).toMatch(/<\/main><\/div><\/body><\/html>$/);
  }
});

test('work continues while its session is valid', async () => {
  const { as } = await enterAsSupport();
  const stopped = stopAt(simulation.route, 1);
  const page = reader(await send(simulation, as));
  await page.until((text) => text.includes('</progress>'));
  world.clock.advanceSeconds(1);
  stopped.goOn();
  expect(await page.until(() => false)).toContain(simulation.result);
});

test('the result of a slow query is not shown after the session has ended', async () => {
  const { as, end } = await enterAsAnother();
  const stopped = stopAt('runs.list', 1, 'handler');
  const coming = world.request('GET', '/console/runs', { headers: { cookie: as } });
  await stopped.reached;
  await end();
  world.clock.advanceSeconds(1);
  stopped.goOn();
  const { status, text } = await coming;
  expect([status, text.includes(signedOut), text.includes('<table')]).toEqual([401, true, false]);
});

/** More failed deliveries than fit into two batches. */
const failed = 10_001;

async function webhookWithFailures(): Promise<string> {
  const id = await subscribe(world, org, 'https://receiver.example/');
  await api('POST', `/v1/orgs/${org.id}/webhooks/${id}/pause`);
  await world.db.query(
    `INSERT INTO webhook_deliveries (org_id, subscription_id, id, event_id, event_type, state, due_at, created_at)
     SELECT $1, $2, 'dlv_' || lpad(n::text, 8, '0'), 'evt_' || n, 'budget.created', 'failed', $4, $4
       FROM generate_series(1, $3::int4) AS n`,
    [org.id, id, failed, world.clock.now()],
  );
  return id;
}

async function inLine(id: string): Promise<number> {
  const [row] = await world.db.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM webhook_deliveries WHERE subscription_id = $1 AND state = 'waiting'`,
    [id],
  );
  return row?.count ?? 0;
}

const redelivery = (id: string) => ({
  page: `/console/webhooks/${id}/redeliver`,
  fields: { state: 'failed', from: '2020-01-01T00:00', to: '2099-01-01T00:00' },
});

test('redelivery shows the number of queued deliveries, and at the end a link to continue', async () => {
  const id = await webhookWithFailures();
  const stopped = stopAt('webhooks.redeliver', 2, 'handler');
  const page = reader(await send(redelivery(id)));
  expect(await page.until((text) => text.includes('</progress>'))).toContain('5,000 deliveries so far');
  stopped.goOn();
  const whole = await page.until(() => false);
  expect(whole).toContain(`href="/console/webhooks/${id}?state=waiting&amp;redelivering=${failed}"`);
  expect(await inLine(id)).toBe(failed);
});

test('no more deliveries are queued after the session has ended', async () => {
  const id = await webhookWithFailures();
  const { as, end } = await enterAsAnother();
  const stopped = stopAt('webhooks.redeliver', 2, 'handler');
  const page = reader(await send(redelivery(id), as));
  await page.until((text) => text.includes('</progress>'));
  await end();
  world.clock.advanceSeconds(1);
  stopped.goOn();
  expect(await page.until(() => false)).toContain(signedOut);
  // The deliveries of the request in progress are queued.
  expect(await inLine(id)).toBe(10_000);
});

test('a request that is rejected before work starts has an error status', async () => {
  expect((await send({ ...simulation, fields: { ...rule, expression: 'cost_usd >' } })).status).toBe(422);
});

test('a page about long-running work refreshes itself without JavaScript, until the work is done or refreshing is turned off', async () => {
  const renewal = /<head>.*<noscript><meta http-equiv="refresh" content="4"><\/noscript><\/head>/s;
  const open = async (path: string) =>
    (await world.request('GET', path, { headers: { cookie } })).text.replaceAll('\n', ' ');
  await api('POST', '/v1/runs', { model: 'm', cost_usd: '1', customer_id: 'acme' });
  await world.request('DELETE', `/v1/orgs/${org.id}/customers/acme`, { key: org.ownerKey });
  const going = await open('/console/customers/erased?done=erasing');
  expect(going).toMatch(renewal);
  expect(going).toContain('Refreshing automatically. <a href="/console/customers/erased?still=yes">');
  expect(await open('/console/customers/erased?still=yes')).not.toMatch(/http-equiv="refresh"/);
  world.clock.advanceSeconds(11);
  await world.runJob('erase-customers');
  const done = await open('/console/customers/erased');
  expect(done).toContain('>Erased<');
  expect(done).not.toMatch(/http-equiv="refresh"/);
});
