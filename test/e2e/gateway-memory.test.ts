/** A process with a small heap survives bodies that take much memory, from many calls at once. */
import { afterEach, expect, test } from 'vitest';
import { callHeaders, createGatewayProcesses, type GatewayProcesses } from '../support/gateway-processes.ts';

let world: GatewayProcesses;
afterEach(() => world?.remove());

const bytes = 8_000_000;
const body = (content: string) =>
  `{"model":"gpt-test","max_tokens":5,"messages":[{"role":"user","content":${content}}]}`;
const bodies: readonly (readonly [string, string])[] = [
  ['empty objects', body(`[${'{},'.repeat(bytes / 3)}{}]`)],
  [
    'as many objects as are allowed, and text',
    body(`[${'{"a":""},'.repeat(45_000)}"${'wörd '.repeat(bytes / 8)}"]`),
  ],
  ['characters of two bytes', body(`"${'語 '.repeat(bytes / 4)}"`)],
  ['escapes', body(`"${'\\u8a9e '.repeat(bytes / 7)}"`)],
  ['words', body(`"${'word '.repeat(bytes / 5)}"`)],
];
const calls = 40;

test('a process with a heap of 512 MB serves or refuses forty bodies of 8 MB at once', async () => {
  world = await createGatewayProcesses(1, { NODE_OPTIONS: '--max-old-space-size=512' });
  const org = await world.createOrg();
  const [service] = world.services;
  const send = async (number: number) => {
    const response = await fetch(`${service?.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: callHeaders(org, number),
      body: (bodies[number % bodies.length] as (typeof bodies)[number])[1],
    });
    await response.text();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: calls }, (_, number) => send(number)));
  expect(statuses.filter((status) => ![200, 400, 503].includes(status))).toEqual([]);
  expect(statuses).toContain(200);
  expect(statuses).toContain(400);
  // The same process answers, and has its memory back.
  expect(service?.spawned.child.exitCode).toBeNull();
  expect(await send(4)).toBe(200);
});
