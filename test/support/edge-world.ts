/** A service on a real socket, for tests with misbehaving clients. The service must still be healthy afterwards. */
import { expect } from 'vitest';
import type { ErrorCode } from '../../src/contract/errors.ts';
import { createWorld, type World } from '../harness.ts';
import { checkAnswer } from './contract-check.ts';
import { useFixture } from './fixtures.ts';
import { exchange, type RawAnswer, rawRequest } from './raw-socket.ts';

export interface EdgeWorld {
  readonly world: World;
  readonly port: number;
  /** Header lines of an operator who sends JSON. */
  readonly operator: readonly string[];
  /** A request of that operator that creates an org. */
  createOrg(name: string): string;
  /** Fails unless the service serves a page and an authenticated write, each on a new connection. */
  checkHealthy(): Promise<void>;
  close(): Promise<void>;
}

export function useEdgeWorld(env?: Record<string, string>): EdgeWorld {
  return useFixture(() => createEdgeWorld(env));
}

async function createEdgeWorld(env?: Record<string, string>): Promise<EdgeWorld> {
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
    close: world.close,
    async checkHealthy() {
      const [page] = await exchange(port, rawRequest('GET', '/healthz'));
      expect(page?.status).toBe(200);
      const [created] = await exchange(port, createOrg('Healthy'));
      expect(created?.status).toBe(201);
    },
  };
}

/**
 * Checks an error response against the contract. Returns its status and code, with the codes of its field errors if
 * there are any.
 */
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
