/** Agent sessions that share a budget, until no further call of theirs is allowed or their time is over. */
import { setTimeout as pause } from 'node:timers/promises';
import { normal, seededRandom } from '../../test/support/series.ts';
import type { Sample } from '../measure.ts';
import { type AgentProvider, agentModel, costUsd, type PlannedOutput } from './agent-provider.ts';

/** Time passes faster by this factor: of the provider, of the sessions, and of the services under test that bound output by time. */
export const clockFactor = 10;
export const maxTokens = 128_000;
const outputMedian = 900;
/** The 99th percentile is 20,000. */
const outputSigma = 1.333;
const seconds = { betweenCalls: 4, afterCut: 5, afterDenial: 10, betweenStarts: 5 };
/** About 6,000 tokens. */
const context = 'The quick brown fox jumps over the lazy dog. '.repeat(533);
/** A session has given up if it was denied as often since the last call ended. */
const denialsToGiveUp = 2;
const spentFrom = 0.98;
/** Time of the agents after which no call starts. Enough to spend the budget if few calls are denied. */
export const minutesMax = 15;

export interface Agents {
  readonly sessions: number;
  readonly callsPerSession: number;
  readonly seed: number;
}

export interface AgentWay {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const callOf = (text: string) => text.slice(0, text.indexOf('.'));
const nameOf = (session: number, call: number) => `Session ${session}, call ${call}`;
const textOf = (name: string) => `${name}. ${context}`;

/** Returns the output of each call, by its name: the same for every product. */
export function plannedOutputs({ sessions, callsPerSession, seed }: Agents): Map<string, PlannedOutput> {
  const random = seededRandom(seed);
  const outputs = new Map<string, PlannedOutput>();
  for (let session = 1; session <= sessions; session += 1) {
    for (let call = 1; call <= callsPerSession; call += 1) {
      const tokens = Math.round(outputMedian * Math.exp(outputSigma * normal(random)));
      const perSecond = Math.min(150, 60 + 30 * Math.abs(normal(random)));
      outputs.set(nameOf(session, call), {
        tokens: Math.max(1, Math.min(maxTokens, tokens)),
        tokensPerSecond: perSecond * clockFactor,
      });
    }
  }
  return outputs;
}

/** Returns what all calls cost if none is denied or cut. */
export function totalUsd(outputs: ReadonlyMap<string, PlannedOutput>): number {
  return [...outputs].reduce((total, [name, { tokens }]) => total + costUsd(textOf(name), tokens), 0);
}

export interface AgentsResult {
  readonly figures: Sample;
  /** Number of denials by their status, and an example of each. */
  readonly denials: ReadonlyMap<number, { count: number; readonly example: string }>;
}

export async function runAgents(
  way: AgentWay,
  provider: AgentProvider,
  outputs: ReadonlyMap<string, PlannedOutput>,
  { sessions, callsPerSession, seed }: Agents,
  budgetUsd: number,
): Promise<AgentsResult> {
  const random = seededRandom(seed + 1);
  const denials = new Map<number, { count: number; example: string }>();
  const wouldHaveFit = new Set<string>();
  let first: { readonly settled: number; readonly withRunning: number } | undefined;
  const startedMs = performance.now();
  const minutes = () => ((performance.now() - startedMs) * clockFactor) / 60_000;
  let [whole, cut, cutEarly, ends] = [0, 0, 0, 0];

  function noteDenial(name: string, status: number, example: string): void {
    const settled = provider.endedUsd();
    const withRunning = settled + provider.runningUsd();
    const { tokens } = outputs.get(name) as PlannedOutput;
    first ??= { settled: settled / budgetUsd, withRunning: withRunning / budgetUsd };
    if (withRunning + costUsd(textOf(name), tokens) <= budgetUsd) {
      wouldHaveFit.add(name);
    }
    const known = denials.get(status) ?? { count: 0, example };
    known.count += 1;
    denials.set(status, known);
  }

  async function session(number: number): Promise<void> {
    await wait(random() * seconds.betweenStarts);
    let call = 1;
    let denied = 0;
    let seenEnds = ends;
    while (call <= callsPerSession && minutes() < minutesMax) {
      const name = nameOf(number, call);
      const before = provider.requestsOf(name);
      const { status, text } = await send(way, textOf(name));
      if (provider.requestsOf(name) === before) {
        noteDenial(name, status, text.slice(0, 300));
        denied = seenEnds === ends ? denied + 1 : 1;
        seenEnds = ends;
        if (denied >= denialsToGiveUp && provider.running() === 0) {
          return;
        }
        await wait(seconds.afterDenial);
        continue;
      }
      const isWhole = status === 200 && text.includes('"end_turn"');
      whole += isWhole ? 1 : 0;
      cut += isWhole ? 0 : 1;
      cutEarly += !isWhole && provider.billedUsd() < spentFrom * budgetUsd ? 1 : 0;
      ends += 1;
      call += 1;
      await wait(isWhole ? 1 + random() * seconds.betweenCalls : seconds.afterCut);
    }
  }

  await Promise.all(Array.from({ length: sessions }, (_, index) => session(index + 1)));
  const percent = (share: number) => share * 100;
  return {
    figures: {
      'billed / budget, %': percent(provider.billedUsd() / budgetUsd),
      'settled at the first denial, %': percent(first?.settled ?? 1),
      'settled and running at the first denial, %': percent(first?.withRunning ?? 1),
      'minutes of the agents': minutes(),
      'calls finished': whole,
      'calls cut': cut,
      'calls cut before 98 % was spent, %': percent(cutEarly / Math.max(1, whole + cut)),
      'calls denied although they would have fit': wouldHaveFit.size,
    },
    denials,
  };
}

function wait(agentSeconds: number): Promise<void> {
  return pause((agentSeconds * 1_000) / clockFactor);
}

async function send(
  { port, path, headers }: AgentWay,
  content: string,
): Promise<{ status: number; text: string }> {
  const body = {
    model: agentModel,
    max_tokens: maxTokens,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 100_000 },
    messages: [{ role: 'user', content }],
  };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  });
  // A gateway may close the connection of a stream that it cuts.
  return { status: response.status, text: await response.text().catch(() => '') };
}
