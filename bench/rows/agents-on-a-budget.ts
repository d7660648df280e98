/** Compares how far a budget reaches for agents that ask for far more output than they use, and whether it holds. */
import type { HoldMode } from '../../src/contract/hold-modes.ts';
import { liteLlmNewest, liteLlmNewestVersion } from '../../test/support/litellm.ts';
import { benchOrg } from '../bench-org.ts';
import { agentModel, startAgentProvider } from '../gateway/agent-provider.ts';
import {
  type AgentsResult,
  type AgentWay,
  callOf,
  clockFactor,
  maxTokens,
  minutesMax,
  plannedOutputs,
  runAgents,
  totalUsd,
} from '../gateway/agents.ts';
import { claudeVersion, startClaudeGateway } from '../gateway/claude-gateway.ts';
import { gatewayKey, isAbsent } from '../gateway/contenders.ts';
import { startLiteLlm } from '../gateway/peers.ts';
import type { Sample, SingleRow } from '../measure.ts';
import { startService } from '../processes.ts';

const sessions = 20;
const callsPerSession = 40;
const seed = 1;

interface Budgeted extends AgentWay {
  stop(): Promise<void>;
  notes?(): Promise<readonly string[]>;
}

interface Contender {
  readonly name: string;
  start(providerPort: number, budgetUsd: number): Promise<Budgeted | { readonly missing: string }>;
}

const contenders: readonly Contender[] = [
  ...(['worst_case', 'expected', 'paced'] as const).map((hold) => ({
    name: `Purser ${hold}`,
    start: (providerPort: number, budgetUsd: number) => purser(hold, providerPort, budgetUsd),
  })),
  {
    name: `LiteLLM ${liteLlmNewestVersion}`,
    async start(providerPort, usd) {
      const started = await startLiteLlm(providerPort, {
        budget: { of: 'key', usd },
        tool: liteLlmNewest,
        anthropicModel: agentModel,
      });
      return isAbsent(started) ? started : { ...started, path: '/v1/messages' };
    },
  },
  {
    name: `claude gateway ${claudeVersion}`,
    async start(providerPort, budgetUsd) {
      const started = await startClaudeGateway(providerPort, budgetUsd);
      return isAbsent(started) ? started : { ...started, path: '/v1/messages' };
    },
  },
];

export const agentsOnABudget: SingleRow = {
  kind: 'single',
  name: 'agents-on-a-budget',
  what:
    `${sessions} agents at once, ${callsPerSession} calls each of at most ${maxTokens} tokens, all hidden (median 900, p99 20,000), on ` +
    `a budget of half of what they cost, for ${minutesMax} minutes. Time passes ${clockFactor} times as fast, for the provider, the agents and Purser`,
  toReach: {
    'Purser worst_case: billed / budget, %': { atMost: 100 },
    'Purser expected: billed / budget, %': { atMost: 100 },
    'Purser paced: billed / budget, %': { atMost: 100 },
    'Purser paced: settled and running at the first denial, %': { atLeast: 95 },
    'Purser paced: calls cut before 98 % was spent, %': { atMost: 1 },
  },
  shrinks: true,
  async measure({ small, progress }) {
    const agents = { sessions, callsPerSession: small ? 10 : callsPerSession, seed };
    const outputs = plannedOutputs(agents);
    const budgetUsd = Math.round(totalUsd(outputs) / 2);
    const notes = [
      `The budget is $${budgetUsd}.`,
      'Bifrost did not take part: its npm package has no gateway, but downloads it from a server of its own.',
    ];
    let figures: Sample = {};
    for (const { name, start } of contenders) {
      progress(name);
      const provider = await startAgentProvider(callOf, outputs);
      try {
        const way = await start(provider.port, budgetUsd);
        if ('missing' in way) {
          notes.push(`${name} did not take part: ${way.missing}`);
          continue;
        }
        const startedMs = performance.now();
        const result = await runAgents(way, provider, outputs, agents, budgetUsd);
        progress(`${name} took ${Math.round((performance.now() - startedMs) / 1_000)} s`);
        figures = { ...figures, ...figuresOf(name, result) };
        notes.push(...denialsOf(name, result), ...((await way.notes?.()) ?? []));
        await way.stop();
      } finally {
        await provider.stop();
      }
    }
    return { figures, notes };
  },
};

function figuresOf(name: string, { figures }: AgentsResult): Sample {
  return Object.fromEntries(Object.entries(figures).map(([figure, value]) => [`${name}: ${figure}`, value]));
}

function denialsOf(name: string, { denials }: AgentsResult): string[] {
  return [...denials].map(([status, { count, example }]) => `${name}: ${count} times ${status}, ${example}`);
}

interface LimitUsage {
  readonly id: string;
  readonly standing: { readonly settled: string; readonly held: string };
}

async function purser(hold: HoldMode, providerPort: number, budgetUsd: number): Promise<Budgeted> {
  const settings = { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true' };
  const service = await startService({ settings, clockFactor });
  const org = await benchOrg(service);
  const own = <Answer>(method: string, path: string, body?: object) =>
    service.call<Answer>(method, `/v1/orgs/${org.id}/${path}`, body, org.key);
  await own('POST', 'connections', {
    name: 'bench',
    kind: 'anthropic',
    base_url: `http://127.0.0.1:${providerPort}`,
    api_key: 'provider',
  });
  await own('PUT', 'gateway', { hold });
  const budget = { name: 'bench', scope_kind: 'org', period: 'month', limit_usd: String(budgetUsd) };
  const { id } = await own<{ id: string }>('POST', 'budgets', budget);
  return {
    ...service,
    path: '/anthropic/v1/messages',
    headers: { 'x-api-key': await gatewayKey(service, org) },
    async notes() {
      const { data } = await own<{ data: LimitUsage[] }>('GET', 'limits');
      const usage = data.find((limit) => limit.id === id)?.standing;
      return [
        `Purser ${hold}: its own ledger has $${usage?.settled} settled and $${usage?.held} held at the end.`,
      ];
    },
  };
}
