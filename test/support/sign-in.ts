/** Signing in to the console like a browser. */
import { expect } from 'vitest';
import type { TestAnswer, World } from '../harness.ts';

export const formType = 'application/x-www-form-urlencoded';

export function postForm(
  world: World,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  return world.request('POST', path, {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'content-type': formType, ...headers },
  });
}

/** Returns the first cookie that a response sets, as a browser would send it back. */
export function cookieOf({ headers }: Pick<TestAnswer, 'headers'>): string {
  const [line = ''] = [headers['set-cookie'] ?? []].flat();
  return line.split(';')[0] ?? '';
}

export interface SignedIn {
  readonly cookie: string;
  readonly id: string;
}

export async function signIn(world: World, key: string, orgId?: string): Promise<SignedIn> {
  const answer = await postForm(world, '/console/login', { key });
  expect(answer.status, answer.text).toBe(303);
  const cookie = cookieOf(answer);
  const path = orgId === undefined ? '/v1/admin/sessions' : `/v1/orgs/${orgId}/sessions`;
  const { json } = await world.request('GET', `${path}?limit=200`, { headers: { cookie } });
  return { cookie, id: json.data.find(({ current }: { current: boolean }) => current).id };
}
