/** Compares how much 200 parallel streams spend on a small budget through Purser and through other gateways, by the provider's bill. */

import { liteLlmVersion } from '../../test/support/litellm.ts';
import { benchOrg } from '../bench-org.ts';
import {
  type Bill,
  connect,
  gatewayKey,
  isAbsent,
  type Provider,
  startProvider,
  type Way,
} from '../gateway/contenders.ts';
import { connectClient, requestBytes } from '../gateway/exchange.ts';
import { type LiteLlmBudget, startLiteLlm, startPortkey } from '../gateway/peers.ts';
import type { Sample, SingleRow } from '../measure.ts';
import { startService } from '../processes.ts';

const streams = 200;
const budgetUsd = 0.05;
const tokens = 100;
/** Statuses with which the gateways deny a call. */
const denials = [402, 422, 429];
/** The streams overlap: the last one starts before the first one has ended. */
const everyMs = 20;

export const parallelStreams: SingleRow = {
  kind: 'single',
  name: 'parallel-streams',
  what:
    `${streams} streams at once on a budget of $${budgetUsd}, at most ${tokens} tokens each: what the provider billed. ` +
    'Each gateway with the budget that it offers for one key; one process each',
  toReach: {
    'Purser: billed, cents': { atMost: budgetUsd * 100 },
    // A gateway that refuses everything spends nothing, too.
    'Purser: of the budget, %': { atLeast: 75 },
  },
  async measure({ progress }) {
    const provider = await startProvider();
    const notes: string[] = [];
    let figures: Sample = {};
    try {
      for (const { name, start } of contenders) {
        progress(name);
        const way = await start(provider);
        if ('missing' in way) {
          notes.push(`${name} did not take part: ${way.missing}`);
          continue;
        }
        figures = { ...figures, ...figuresOf(name, await spend(provider, way)) };
        notes.push(...((await way.notes?.()) ?? []));
        await way.stop();
      }
      return { figures, notes };
    } finally {
      await provider.stop();
    }
  },
};

type Contender = Omit<Way, 'name'> & { notes?(): Promise<readonly string[]> };

const contenders: readonly {
  readonly name: string;
  start(provider: Provider): Promise<Contender | { missing: string }>;
}[] = [
  { name: 'Purser', start: purserWithBudget },
  { name: `LiteLLM ${liteLlmVersion}, budget of a key`, start: (provider) => liteLlm(provider, 'key') },
  {
    name: `LiteLLM ${liteLlmVersion}, budget of a provider`,
    start: (provider) => liteLlm(provider, 'provider'),
  },
  { name: 'Portkey, no budgets', start: portkey },
];

interface LimitUsage {
  readonly id: string;
  readonly standing: { readonly settled: string; readonly held: string };
}

async function purserWithBudget(provider: Provider): Promise<Contender> {
  const service = await startService({ settings: { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true' } });
  const org = await benchOrg(service);
  await connect(service, org, provider);
  const budget = { name: 'bench', scope_kind: 'org', period: 'day', limit_usd: String(budgetUsd) };
  const { id } = await service.call<{ id: string }>('POST', `/v1/orgs/${org.id}/budgets`, budget, org.key);
  const headers = { authorization: `Bearer ${await gatewayKey(service, org)}` };
  return {
    ...service,
    headers,
    path: '/openai/v1/chat/completions',
    async notes() {
      const path = `/v1/orgs/${org.id}/limits`;
      const { data } = await service.call<{ data: LimitUsage[] }>('GET', path, undefined, org.key);
      const usage = data.find((limit) => limit.id === id)?.standing;
      return [`Purser: its own ledger has $${usage?.settled} settled and $${usage?.held} held.`];
    },
  };
}

async function liteLlm(
  provider: Provider,
  of: LiteLlmBudget['of'],
): Promise<Contender | { missing: string }> {
  const started = await startLiteLlm(provider.port, { budget: { of, usd: budgetUsd } });
  return isAbsent(started) ? started : { ...started, path: '/v1/chat/completions' };
}

async function portkey(provider: Provider): Promise<Contender | { missing: string }> {
  const started = await startPortkey(provider.port);
  return isAbsent(started) ? started : { ...started, path: '/v1/chat/completions' };
}

interface Spent {
  readonly bill: Bill;
  readonly refused: number;
}

async function spend(provider: Provider, way: Contender): Promise<Spent> {
  await provider.behave({ tokens, everyMs, timed: false });
  const body = {
    model: 'gpt-4o',
    max_tokens: tokens,
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  };
  const request = requestBytes(way.port, { path: way.path, headers: way.headers, body });
  const statuses = await Promise.all(
    Array.from({ length: streams }, async () => {
      const client = await connectClient(way.port);
      try {
        return (await client.send(request)).status;
      } finally {
        client.close();
      }
    }),
  );
  const refused = statuses.filter((status) => status !== 200);
  const broken = refused.find((status) => !denials.includes(status));
  if (broken !== undefined) {
    throw new Error(`a stream was answered with ${broken}`);
  }
  return { bill: await provider.bill(), refused: refused.length };
}

function figuresOf(name: string, { bill, refused }: Spent): Sample {
  return {
    [`${name}: billed, cents`]: bill.usd * 100,
    [`${name}: of the budget, %`]: (bill.usd * 100) / budgetUsd,
    [`${name}: streams billed`]: bill.requests,
    [`${name}: refused`]: refused,
  };
}
