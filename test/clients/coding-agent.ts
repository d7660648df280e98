/** The tests that every coding agent passes, with nothing changed but its base URL and its key. */
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { ToolCall } from '../support/mock-provider.ts';
import {
  type ClientRequest,
  type ClientWorld,
  createClientWorld,
  type Ended,
  type Program,
} from './client-world.ts';

export interface CodingAgent {
  readonly name: string;
  /** Undefined if the program cannot be installed here. */
  readonly path: string | undefined;
  /** Returns how it is started for the prompt "Say hello". */
  start(world: ClientWorld, options: readonly string[]): Omit<Program, 'path'>;
  /** The paths of its requests for a response. */
  readonly requestPath: RegExp;
  readonly sessionHeader: string;
  /** A tool that prints `tool-ran`, the options that allow it, and the request that contains its result. */
  readonly tool: ToolCall & { readonly options: readonly string[]; readonly resultMark: string };
  /** The status of the one request that a limit has denied, and what the user sees of the time of the reset. */
  readonly denial: { readonly status: number; shownReset(ended: Ended): string; readonly reset: RegExp };
  /** The statuses of its requests if a limit ends the first response, and what the user sees. */
  readonly truncation: { readonly statuses: readonly number[]; readonly shown: RegExp };
  /** Options without which it requests reasoning, for which the whole output is held from the start. */
  readonly withoutReasoning: readonly string[];
}

export interface AgentTests {
  world(): ClientWorld;
  run(more?: Partial<Program>, options?: readonly string[]): Promise<Ended>;
}

export const answer = 'tok0 tok1 tok2 tok3 tok4';
/** The most that the end of a denied session may take longer than that of one with an answer. */
const denialMsMax = 2_000;

/** `more` adds the tests of this agent alone. */
export function testCodingAgent(agent: CodingAgent, more: (tests: AgentTests) => void): void {
  describe.skipIf(agent.path === undefined)(`${agent.name} with another base URL and key`, () => {
    let world: ClientWorld;
    beforeAll(async () => {
      world = await createClientWorld();
    });
    afterAll(() => world.close());
    beforeEach(async () => {
      world.reset();
      await world.gateway.cap('1000');
    });

    async function run(changes: Partial<Program> = {}, options: readonly string[] = []): Promise<Ended> {
      const ended = await world.run({
        path: agent.path as string,
        ...agent.start(world, options),
        ...changes,
      });
      expect(world.elsewhere).toEqual([]);
      return ended;
    }

    test('shows the answer, and its session names the chain of the run', async () => {
      const { code, stdout } = await run();
      expect(stdout.trim()).toBe(answer);
      expect(code).toBe(0);
      const session = responseRequests(world, agent)[0]?.headers[agent.sessionHeader];
      expect(session).toMatch(/^[0-9a-f-]{36}$/);
      expect(await world.settledRuns()).toMatchObject([{ status: 'succeeded', chain_id: session }]);
      await world.expectBilled();
    });

    test('uses tools: each request is a run of the same chain', async () => {
      const { resultMark, options, ...tool } = agent.tool;
      world.gateway.provider.toolOf = (body) =>
        JSON.stringify(body.messages ?? body.input).includes(resultMark) ? undefined : tool;
      const { stdout } = await run({}, options);
      expect(stdout.trim()).toBe(answer);
      expect(world.gateway.provider.requests.at(-1)?.text).toContain('tool-ran');
      await world.expectBilled();
      const [first, second] = await world.settledRuns();
      expect(second?.chain_id).toBe(first?.chain_id);
    });

    test('an interrupted stream is paid as the provider billed it', async () => {
      let program: ChildProcess | undefined;
      world.gateway.provider.outputOf = () => 40;
      world.gateway.provider.beforeChunk = async (index) => {
        if (index === 10) {
          const [request] = responseRequests(world, agent);
          await eventually(async () => expect(request?.status).toBe(200));
          program?.kill('SIGINT');
          await eventually(async () => expect(request?.endedMs).toBeDefined());
        }
      };
      await run({
        onStart(child) {
          program = child;
        },
      });
      expect(world.gateway.provider.bill).toMatchObject([{ outputTokens: 40 }]);
      await world.expectBilled();
    });

    test('makes one request when denied, ends at once, and shows when the limit resets', async () => {
      const answered = await run();
      const usualMs = endMs(world, agent, answered);
      world.reset();
      await world.gateway.cap('0.000001');
      const denied = await run();
      expect(denied.code).toBe(1);
      expect(agent.denial.shownReset(denied)).toMatch(agent.denial.reset);
      expect(world.requests.map(({ status }) => status)).toEqual([agent.denial.status]);
      expect(endMs(world, agent, denied) - usualMs).toBeLessThan(denialMsMax);
      expect(world.gateway.provider.requests).toEqual([]);
      expect(await world.gateway.holds()).toBe(0);
    });

    test('an answer that outgrows its limit is not requested again and again', async () => {
      await world.expectedHolds();
      await run({}, agent.withoutReasoning);
      const [usual] = responseRequests(world, agent);
      world.requests.length = 0;
      await world.outgrowLimit(usual?.heldUsd ?? 0);
      const ended = await run({}, agent.withoutReasoning);
      expect(responseRequests(world, agent).map(({ status }) => status)).toEqual(agent.truncation.statuses);
      expect(ended.stdout + ended.stderr).toMatch(agent.truncation.shown);
      await world.expectTruncated();
    });

    test.each([429, 500])('a single status %i of the provider does not reach it', async (status) => {
      const { provider } = world.gateway;
      provider.fault = () => (provider.requests.length === 1 ? { status, retryAfter: '0' } : undefined);
      const { stdout } = await run();
      expect(stdout.trim()).toBe(answer);
      expect(responseRequests(world, agent).map((request) => request.status)).toEqual([200]);
      await world.expectBilled();
    });

    test.each([429, 500])(
      'repeats a call that the provider answered with %i, and pays once',
      async (status) => {
        // The gateway has attempts of its own. All of them fail, until the client has seen the status.
        world.gateway.provider.fault = () =>
          world.requests.some((request) => request.status === status)
            ? undefined
            : { status, retryAfter: '0' };
        const { stdout } = await run();
        expect(stdout.trim()).toBe(answer);
        expect(responseRequests(world, agent).map((request) => request.status)).toEqual([status, 200]);
        const [first, second] = await world.settledRuns();
        expect([first?.status, Number(first?.cost_usd)]).toEqual(['failed', 0]);
        expect(second).toMatchObject({ status: 'succeeded' });
      },
    );

    more({ world: () => world, run });
  });
}

function responseRequests({ requests }: ClientWorld, { requestPath }: CodingAgent): ClientRequest[] {
  return requests.filter(({ method, url }) => method === 'POST' && requestPath.test(url));
}

/** Time from the end of the last response to the end of the program. */
function endMs(world: ClientWorld, agent: CodingAgent, { endedMs }: Ended): number {
  const last = responseRequests(world, agent).at(-1);
  expect(last?.endedMs).toBeDefined();
  return endedMs - (last?.endedMs ?? 0);
}
