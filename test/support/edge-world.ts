/** A service on a real socket for tests that misbehave, which have to leave it as healthy as they found it. */
import { expect } from 'vitest';
import type { ErrorCode } from '../../src/contract/errors.ts';
import { createWorld, type World } from '../harness.ts';
import { checkAnswer } from './contract-check.ts';
import { exchange, type RawAnswer, rawRequest } from './raw-socket.ts';

export interface EdgeWorld {
  readonly world: World;
  readonly port: number;
  /** Header lines of an operator who sends JSON. */
  readonly operator: readonly string[];
  /** A request of that operator that creates an org. */
  createOrg(name: string): string;
  /** Fails unless the service answers a page and an authenticated write, each on a new connection. */
  checkHealthy(): Promise<void>;
}

export async function createEdgeWorld(env: Record<string, string> = {}): Promise<EdgeWorld> {
  const world = await createWorld(env);
  const { port } = await world.listen();
  const operator = [`Authorization: Bearer ${world.operatorKey}`, 'Content-Type: application/json'];
  const createOrg = (name: string) => {
    const body = JSON.stringify({ name });
    return rawRequest(
      'POST',
      '/v1/admin/orgs',
      [...operator, `Content-Length: ${Buffer.byteLength(body)}`],
      body,
    );
  };
  return {
    world,
    port,
    operator,
    createOrg,
    async checkHealthy() {
      const [page] = await exchange(port, rawRequest('GET', '/healthz'));
      expect(page?.status).toBe(200);
      const [created] = await exchange(port, createOrg('Healthy'));
      expect(created?.status).toBe(201);
    },
  };
}

/** Holds an answer against the contract and returns its code, with the codes of its fields where it has some. */
export function refusalIn(answer: RawAnswer | undefined): string {
  if (answer === undefined) {
    throw new Error('there is no answer');
  }
  checkAnswer(answer, undefined);
  const { error } = JSON.parse(answer.text) as {
    error: { code: ErrorCode; details: { fields?: { field: string; code: string }[] } };
  };
  const fields = error.details.fields?.map(({ field, code }) => ` ${field}:${code}`) ?? [];
  return `${answer.status} ${error.code}${fields.join()}`;
}
