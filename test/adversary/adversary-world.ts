/** The gateway in front of the lenient provider, and one call at a time with what was held, billed and charged for it. */
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { randomOf } from '../../src/demo/random.ts';
import { parseUsd } from '../../src/kernel/money.ts';
import { eventually } from '../support/eventually.ts';
import { connectionTo, createGatewayWorld, type GatewayWorld } from '../support/gateway-world.ts';
import { type Members, treeOf } from './json-tree.ts';
import { type LenientProvider, startLenientProvider } from './lenient-provider.ts';
import { bytesOf, type Draft, type MutationName, mutations } from './mutations.ts';
import { type Personality, personalities } from './personalities.ts';
import { putModels } from './price-table.ts';
import type { Delivery } from './replies.ts';
import type { ValidCall } from './valid-calls.ts';

export interface PlannedMutation {
  readonly name: MutationName;
  readonly seed: number;
}

export interface PlannedCall {
  readonly call: ValidCall;
  readonly personality: Personality;
  readonly delivery: Delivery;
  /** True if the connection is that of a compatible provider. */
  readonly isCompatible: boolean;
  readonly mutations: readonly PlannedMutation[];
}

/** Amounts are in nanodollars. */
export interface Observation {
  readonly status: number | 'connection lost';
  readonly body: Buffer;
  readonly answer: string;
  readonly sent: number;
  /** True if each response of the provider has reported all that was billed. */
  readonly isReported: boolean;
  readonly billed: bigint;
  /** Held when the provider received the request. */
  readonly held: bigint;
  readonly charged: bigint;
}

export interface AdversaryWorld {
  readonly gateway: GatewayWorld;
  readonly provider: LenientProvider;
  /** Makes a call, and returns what was held, billed and charged for it. No other call may be in progress. */
  observe(planned: PlannedCall): Promise<Observation>;
  spentNanos(): Promise<bigint>;
  /** Makes calls at the same time, to a provider of one personality. Returns their statuses and what the provider has billed. */
  sendTogether(
    planned: readonly PlannedCall[],
  ): Promise<{ statuses: Observation['status'][]; billed: bigint }>;
  close(): Promise<void>;
}

const compatibleName = 'compatible';

export async function createAdversaryWorld(): Promise<AdversaryWorld> {
  const gateway = await createGatewayWorld();
  const provider = await startLenientProvider(personalities[0] as Personality);
  await putModels(gateway.world);
  gateway.connections = [
    connectionTo(provider.url),
    connectionTo(provider.url, 'anthropic'),
    connectionTo(provider.url, 'gemini'),
    connectionTo(provider.url, 'vertex'),
    connectionTo(provider.url, 'bedrock'),
    connectionTo(provider.url, 'openai_compatible', { name: compatibleName, id: 'con_compatible' }),
  ];
  // The calls continue this response, so the caller must have created it.
  await gateway.world.db.query(
    `INSERT INTO run_responses (org_id, response_id, run_id, recorded_at, key_id) VALUES ($1, 'resp_1', 'run_1', now(), 'key_1')`,
    [gateway.org.id],
  );
  const agent = new Agent({ keepAlive: true });

  async function heldNanos(): Promise<bigint> {
    const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}/holds?limit=200`, {
      key: gateway.org.ownerKey,
    });
    return sumOf(json.data.map((hold: { held_usd: string }) => hold.held_usd));
  }

  async function spentNanos(): Promise<bigint> {
    // Answered calls are posted before a request of their org is answered.
    await eventually(async () => {
      if ((await gateway.holds()) > 0) {
        throw new Error('a call is not settled yet');
      }
    });
    const [row] = await gateway.world.db.query<{ total: string | null }>(
      'SELECT sum(cost_nanos)::text AS total FROM runs WHERE org_id = $1',
      [gateway.org.id],
    );
    return BigInt(row?.total ?? 0);
  }

  async function send(draft: Draft, path: string) {
    const bytes = bytesOf(draft);
    const sent = request(gateway.url + path, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${gateway.key}`,
        'content-type': 'application/json',
        'content-length': String(bytes.length),
        ...draft.headers,
      } satisfies IncomingHttpHeaders,
    });
    sent.end(bytes);
    try {
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const parts: Buffer[] = [];
      for await (const part of response) {
        parts.push(part as Buffer);
      }
      return { status: response.statusCode ?? 0, answer: Buffer.concat(parts).toString('utf8', 0, 2_000) };
    } catch {
      return { status: 'connection lost' as const, answer: '' };
    }
  }

  async function observe(planned: PlannedCall): Promise<Observation> {
    gateway.world.clock.advanceSeconds(1);
    const draft = draftOf(planned);
    let held = 0n;
    provider.personality = planned.personality;
    provider.delivery = planned.delivery;
    provider.requests.length = 0;
    provider.onRequest = async () => {
      held = await heldNanos();
    };
    const before = await spentNanos();
    const { status, answer } = await send(draft, pathOf(planned));
    const charged = (await spentNanos()) - before;
    const { requests } = provider;
    return {
      status,
      answer,
      body: bytesOf(draft),
      sent: requests.length,
      isReported: requests.every(({ isReported }) => isReported),
      billed: sumOfBills(provider),
      held,
      charged,
    };
  }

  async function sendTogether(planned: readonly PlannedCall[]) {
    const [first] = planned;
    if (first === undefined) {
      return { statuses: [], billed: 0n };
    }
    provider.personality = first.personality;
    provider.delivery = first.delivery;
    provider.requests.length = 0;
    provider.onRequest = async () => undefined;
    const answers = await Promise.all(planned.map((one) => send(draftOf(one), pathOf(one))));
    await spentNanos();
    return { statuses: answers.map(({ status }) => status), billed: sumOfBills(provider) };
  }

  return {
    gateway,
    provider,
    observe,
    sendTogether,
    spentNanos,
    async close() {
      agent.destroy();
      await gateway.close();
      await provider.close();
    },
  };
}

export function pathOf({ call: { path }, isCompatible }: Pick<PlannedCall, 'call' | 'isCompatible'>): string {
  return isCompatible ? path.replace('/openai/', `/compat/${compatibleName}/`) : path;
}

export function draftOf({ call, mutations: planned }: Pick<PlannedCall, 'call' | 'mutations'>): Draft {
  const draft: Draft = {
    shape: call.shape,
    body: treeOf(call.body) as Members,
    headers: {},
    encode: (text) => Buffer.from(text),
  };
  for (const { name, seed } of planned) {
    mutations[name](draft, randomOf(seed));
  }
  return draft;
}

function sumOfBills({ requests }: LenientProvider): bigint {
  return requests.reduce((sum, { billedNanos }) => sum + billedNanos, 0n);
}

function sumOf(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + (parseUsd(amount) ?? 0n), 0n);
}

/** Returns the rules that a call has broken. */
export function violationsOf(
  { status, answer, sent, isReported, billed, held, charged }: Observation,
  delivery: Delivery,
): string[] {
  const violations: string[] = [];
  // A provider that breaks off makes the gateway answer 502.
  const isOwnFault =
    typeof status === 'number' && status >= 500 && !(delivery === 'broken' && status === 502);
  if (isOwnFault || (status === 'connection lost' && sent === 0)) {
    violations.push(`the gateway has failed: ${status} ${answer.slice(0, 200)}`);
  }
  if (sent === 0 && charged > 0n) {
    violations.push(`${charged} charged for a call that the provider did not get`);
  }
  if (sent > 1) {
    violations.push(`the provider got ${sent} requests`);
  }
  if (billed > held) {
    violations.push(`billed ${billed}, held ${held}`);
  }
  if (billed > charged) {
    violations.push(`billed ${billed}, charged ${charged}`);
  }
  if (isReported && sent > 0 && charged !== billed) {
    violations.push(`reported ${billed}, charged ${charged}`);
  }
  return violations;
}
