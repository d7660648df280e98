/** Sign-ins that are in progress while the org changes how people sign in. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { engine, useOrg, useWorld } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { waitingForLocks } from '../../../../test/support/lock-waits.ts';
import { type OidcIdp, startOidcProvider } from '../../../../test/support/oidc-provider.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';
import type { Transaction } from '../../../platform/db/database.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
const org = useOrg(world);
let url: string;
let slug: string;
let idp: OidcIdp;
let emails = 0;
beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  slug = (await owner('GET', '')).json.slug;
  idp = await startOidcProvider(`${url}/sso/callback`);
});
afterAll(() => idp.close());
afterEach(() => {
  vi.restoreAllMocks();
  world.fault = undefined;
});

const owner = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
async function put(more: object = {}): Promise<void> {
  const { issuer, clientId: client_id, clientSecret: client_secret } = idp;
  const body = { issuer, client_id, client_secret, just_in_time: true, ...more };
  const answer = await owner('PUT', '/sso', body);
  expect(answer.status, answer.text).toBe(200);
}
async function invitation(): Promise<string> {
  emails += 1;
  const body = { email: `a${emails}@example.com`, role: 'viewer' };
  const answer = await owner('POST', '/members', body);
  expect(answer.status, answer.text).toBe(201);
  return new URL(answer.json.sign_in_url).pathname;
}
const signInWithKey = () => postForm(world, '/console/login', { key: org.ownerKey });

/** Returns the number of responses whose session cookie gives access to the API. */
async function signedIn(
  answers: readonly { headers: Record<string, string | undefined> }[],
): Promise<number> {
  const cookies = answers.map((answer) => cookieOf(answer)).filter((cookie) => cookie !== '');
  const calls = cookies.map((cookie) =>
    world.request('GET', `/v1/orgs/${org.id}/sessions`, { headers: { cookie } }),
  );
  return (await Promise.all(calls)).filter(({ status }) => status === 200).length;
}

/** Runs `meanwhile` right before the next transaction, after everything that a request does before it. */
function beforeTransaction(meanwhile: () => Promise<void>): void {
  const spy = vi.spyOn(world.db, 'transaction');
  spy.mockImplementationOnce(async (...args: Parameters<typeof world.db.transaction>) => {
    await meanwhile();
    return world.db.transaction(...args) as never;
  });
}

/** Runs `meanwhile` inside the next transaction, right before it waits for the org's lock. */
function beforeLock(meanwhile: () => Promise<void>): void {
  const transaction = world.db.transaction.bind(world.db);
  const spy = vi.spyOn(world.db, 'transaction');
  spy.mockImplementationOnce((work, ...rest) => {
    spy.mockRestore();
    return transaction(
      async (tx: Transaction) => {
        let isDone = false;
        const query = tx.query.bind(tx);
        vi.spyOn(tx, 'query').mockImplementation(async (text, ...values) => {
          if (!isDone && /FROM orgs .*FOR UPDATE/s.test(text)) {
            isDone = true;
            await meanwhile();
          }
          return query(text, ...values) as never;
        });
        return work(tx);
      },
      ...rest,
    ) as never;
  });
}

describe('SSO that becomes required while people sign in', () => {
  test('a key login that was checked before opens no session', async () => {
    await put();
    beforeTransaction(() => put({ required: true }));
    const login = await signInWithKey();
    expect([login.status, await signedIn([login])]).toEqual([403, 0]);
  });

  test('an invitation that was checked before opens no session', async () => {
    await put();
    const link = await invitation();
    beforeTransaction(() => put({ required: true }));
    const joined = await postForm(world, link, {});
    expect([joined.status, await signedIn([joined])]).toEqual([410, 0]);
  });

  // The embedded engine runs only one transaction at a time.
  test.runIf(engine === 'postgres')(
    'a sign-in that waits for the lock of the org opens no session',
    async () => {
      await put();
      const link = await invitation();
      beforeLock(() => put({ required: true }));
      const joined = await postForm(world, link, {});
      expect([joined.status, await signedIn([joined])]).toEqual([410, 0]);
      await put();
      beforeLock(() => put({ required: true }));
      const login = await signInWithKey();
      expect([login.status, await signedIn([login])]).toEqual([403, 0]);
    },
  );

  test('of many sign-ins at once while SSO becomes required, none stays signed in', async () => {
    for (let round = 0; round < 3; round += 1) {
      await put();
      const links = [await invitation(), await invitation(), await invitation()];
      const begun: ReturnType<typeof signInWithKey>[] = [];
      let finished = 0;
      // The sign-ins arrive when the change is written but not yet committed, and proceed as far as they can.
      world.fault = async (point, routeId) => {
        if (point === 'write.before_commit' && routeId === 'sso.put') {
          begun.push(...links.flatMap((link) => [postForm(world, link, {}), signInWithKey()]));
          begun.forEach((one) => void one.then(() => (finished += 1)));
          if (engine === 'postgres') {
            await eventually(async () =>
              expect(finished + (await waitingForLocks(world.db))).toBe(begun.length),
            );
          }
        }
      };
      await put({ required: true });
      world.fault = undefined;
      expect(begun).toHaveLength(6);
      expect(await signedIn(await Promise.all(begun))).toBe(0);
    }
  });
});

test('a sign-in through an identity provider that is replaced meanwhile opens no session', async () => {
  await put();
  idp.account = { sub: 'ada' };
  const browser = new Browser();
  const back = (await browser.follow(`${url}/sso/${slug}/login`, `${url}/sso/callback`)).headers.get(
    'location',
  );
  beforeTransaction(() => put({ issuer: 'https://other.example' }));
  const answer = await browser.request(back ?? '');
  expect(answer.status).toBe(403);
  expect(answer.text).toContain('changed in the meantime');
});
