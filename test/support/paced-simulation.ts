/**
 * Agents that share a budget under `hold: paced`, in simulated time: the real holds and the real history of paces, with a budget and a
 * provider that count tokens. The output is hidden, so nothing but the time of a call bounds it.
 */
import type { CallCounts } from '../../src/growing-holds/call-counts.ts';
import { createPaceHistory } from '../../src/growing-holds/pace-history.ts';
import type { PacedHold } from '../../src/growing-holds/paced-hold.ts';
import { PacedHolds } from '../../src/growing-holds/paced-holds.ts';
import { documentedPace } from '../../src/kernel/documented-pace.ts';
import type { PacedOutput } from '../../src/kernel/pace.ts';
import { normal, type Random, seededRandom } from './series.ts';

export interface SimulatedAgents {
  readonly seed: number;
  /** Processes that share the budget. */
  readonly processes: number;
  /** Times at which the first process is killed, and starts again at once. */
  readonly killedAtMs: readonly number[];
  /** Times at which the first process is stopped for `stoppedMs`. */
  readonly stoppedAtMs: readonly number[];
  /** Time for which a provider continues a call after its process was killed. */
  readonly goesOnMs: number;
}

/** Amounts are in output tokens. */
export interface SimulatedSpend {
  readonly budget: number;
  readonly billed: number;
  readonly charged: number;
  /** Charged although no hold and no limit had room for it, which the service marks `over_hold`. */
  readonly overHold: number;
  /** Calls that were charged less than the provider billed for them. */
  readonly undercharged: number;
  readonly calls: number;
  readonly cut: number;
  readonly killed: number;
  readonly denied: number;
}

const sessions = 20;
const maxOutputTokens = 128_000;
const tickMs = 25;
export const simulatedLeadMs = 2_000;
const stepMs = simulatedLeadMs / 8;
/** Time for which a provider may continue a call after its process was killed. */
export const goOnMs = 30_000;
/** Time for which a provider generates after its connection was closed. */
export const noticeMs = 250;
export const stoppedMs = 5_000;
const outputMedian = 900;
/** The 99th percentile is 20,000. */
const outputSigma = 1.333;
const budget = 1_000_000;
/** What a call costs besides its output. */
const inputCost = 600;
const ledgerMsMax = 120;
const denialsToGiveUp = 2;
const ticksMax = 400_000;

const subject = { orgId: 'org_1', connectionId: 'con_1', model: 'm', tier: '' };
const documented = documentedPace('anthropic', 'm');

interface Process {
  holds: PacedHolds;
  stoppedUntilMs: number;
  nextStepMs: number;
}

interface AgentCall {
  readonly process: Process;
  readonly hold: PacedHold;
  readonly output: PacedOutput;
  readonly sentMs: number;
  readonly tokens: number;
  readonly firstTokenMs: number;
  readonly tokensPerSecond: number;
  /** Tokens held in the budget, which may be more than the process knows of. */
  held: number;
  /** Time at which the connection was closed before the end. */
  closedMs: number | undefined;
}

export async function simulateAgents(options: SimulatedAgents): Promise<SimulatedSpend> {
  const random = seededRandom(options.seed);
  const paces = createPaceHistory(countsInMemory(), () => nowMs);
  const answers: { readonly atMs: number; readonly give: () => void }[] = [];
  const processes = Array.from({ length: options.processes }, () => startProcess());
  const wakeMs = Array.from({ length: sessions }, () => random() * 5_000);
  const calls: (AgentCall | undefined)[] = wakeMs.map(() => undefined);
  const denials = wakeMs.map(() => 0);
  /** Calls of killed processes, whose holds stay until they expire. */
  const lost: AgentCall[] = [];
  const figures = {
    billed: 0,
    charged: 0,
    overHold: 0,
    undercharged: 0,
    calls: 0,
    cut: 0,
    killed: 0,
    denied: 0,
  };
  let nowMs = 0;
  let held = 0;

  function startProcess(): Process {
    const holds = new PacedHolds({ leadMs: simulatedLeadMs, goOnMs, nowMs: () => nowMs });
    return { holds, stoppedUntilMs: 0, nextStepMs: stepMs };
  }

  function take(tokens: number): boolean {
    const isAllowed = figures.charged + held + tokens <= budget;
    held += isAllowed ? tokens : 0;
    return isAllowed;
  }

  function start(session: number): void {
    const process = processes[session % processes.length] as Process;
    const output = { pace: paces.paceOf(subject, documented), maxOutputTokens, answers: 1 };
    const heldTokens = process.holds.firstTokens(output);
    if (!take(heldTokens + inputCost)) {
      figures.denied += 1;
      denials[session] = (denials[session] as number) + 1;
      wakeMs[session] = nowMs + 10_000;
      return;
    }
    figures.calls += 1;
    denials[session] = 0;
    const tokens = Math.round(outputMedian * Math.exp(outputSigma * normal(random)));
    const call: AgentCall = {
      process,
      hold: process.holds.add({
        output,
        heldTokens,
        // The ledger decides at once, and its answer arrives later.
        increase: (more) => {
          const isIncreased = take(more);
          call.held += isIncreased ? more : 0;
          const atMs = nowMs + random() * ledgerMsMax;
          return new Promise((resolve) => answers.push({ atMs, give: () => resolve(isIncreased) }));
        },
        onDenied: () => {
          figures.cut += 1;
          finish(session, call.hold.generatedTokens);
        },
      }),
      output,
      sentMs: nowMs,
      tokens: Math.max(1, Math.min(maxOutputTokens, tokens)),
      firstTokenMs: 200 + 1_300 * random(),
      tokensPerSecond: Math.min(150, 60 + 30 * Math.abs(normal(random))),
      held: heldTokens + inputCost,
      closedMs: undefined,
    };
    call.hold.begin();
    calls[session] = call;
  }

  /** Ends a call. Undefined: its output is complete. */
  function finish(session: number, bound: number | undefined): void {
    const call = calls[session] as AgentCall;
    calls[session] = undefined;
    call.process.holds.remove(call.hold);
    if (bound === undefined) {
      const elapsedMs = nowMs - call.sentMs;
      paces.learn(subject, { outputTokens: call.tokens, elapsedMs, answers: 1 });
      wakeMs[session] = nowMs + 1_000 + 4_000 * random();
    } else {
      call.closedMs = nowMs;
      wakeMs[session] = nowMs + 5_000;
    }
    settle(call, bound ?? call.tokens);
  }

  function settle(call: AgentCall, tokens: number, continuesMs = noticeMs): void {
    const charged = tokens + inputCost;
    held -= call.held;
    const room = budget - figures.charged - held;
    figures.overHold += Math.max(0, charged - Math.max(room, call.held));
    figures.charged += charged;
    const billed = billOf(call, continuesMs) + inputCost;
    figures.billed += billed;
    figures.undercharged += billed > charged ? 1 : 0;
  }

  function kill(): void {
    const killed = processes[0] as Process;
    for (const [session, call] of calls.entries()) {
      if (call?.process === killed) {
        calls[session] = undefined;
        killed.holds.remove(call.hold);
        call.closedMs = nowMs;
        lost.push(call);
        figures.killed += 1;
        wakeMs[session] = nowMs + 5_000;
      }
    }
    processes[0] = { ...startProcess(), nextStepMs: nowMs + stepMs };
  }

  function passTime(): void {
    nowMs += tickMs;
    if (options.killedAtMs.some((ms) => ms > nowMs - tickMs && ms <= nowMs)) {
      kill();
    }
    if (options.stoppedAtMs.some((ms) => ms > nowMs - tickMs && ms <= nowMs)) {
      (processes[0] as Process).stoppedUntilMs = nowMs + stoppedMs;
    }
    for (const answer of answers.filter(({ atMs }) => atMs <= nowMs)) {
      answers.splice(answers.indexOf(answer), 1);
      answer.give();
    }
    for (const process of processes) {
      if (process.nextStepMs <= nowMs && process.stoppedUntilMs <= nowMs) {
        process.nextStepMs = nowMs + stepMs;
        process.holds.step();
      }
    }
    for (const [session, call] of calls.entries()) {
      if (call === undefined) {
        if ((wakeMs[session] as number) <= nowMs && isRunning(session)) {
          start(session);
        }
      } else if (
        call.process.stoppedUntilMs <= nowMs &&
        billOf({ ...call, closedMs: nowMs }, 0) === call.tokens
      ) {
        finish(session, undefined);
      }
    }
  }

  const isRunning = (session: number) =>
    (processes[session % processes.length] as Process).stoppedUntilMs <= nowMs;
  const isOver = () =>
    calls.every((call) => call === undefined) && denials.every((count) => count >= denialsToGiveUp);

  for (let ticks = 0; !isOver(); ticks += 1) {
    if (ticks > ticksMax) {
      throw new Error(`the agents of seed ${options.seed} do not end`);
    }
    passTime();
    // Answers of the ledger continue several asynchronous functions.
    for (let turns = 0; turns < 12; turns += 1) {
      await undefined;
    }
  }
  // The holds of killed processes expire.
  for (const call of lost) {
    const posted = call.held - inputCost + (processes[0] as Process).holds.unwatchedTokens(call.output);
    settle(call, Math.min(maxOutputTokens, posted), options.goesOnMs);
  }
  return { budget, ...figures };
}

/** Returns the tokens that the provider bills for a call whose connection was closed. */
function billOf({ sentMs, closedMs, tokens, ...rate }: AgentCall, noticeMs: number): number {
  if (closedMs === undefined) {
    return tokens;
  }
  const generatingMs = closedMs + noticeMs - sentMs - rate.firstTokenMs;
  return Math.max(0, Math.min(tokens, Math.ceil((generatingMs * rate.tokensPerSecond) / 1_000)));
}

function countsInMemory(): CallCounts {
  const counts = new Map<string, Int32Array>();
  return {
    find: (_, name) => counts.get(name),
    add(_, name, bucket, { buckets }) {
      const known = counts.get(name) ?? new Int32Array(buckets);
      known[bucket] = (known[bucket] as number) + 1;
      counts.set(name, known);
    },
  };
}

/** Returns times at which a process is killed or stopped, while the budget is being spent. */
export function timesOf(random: Random, count: number): number[] {
  return Array.from({ length: count }, () => 20_000 + 300_000 * random());
}
