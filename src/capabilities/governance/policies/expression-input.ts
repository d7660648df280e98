/** The input of expressions. Every field always exists; values that were not sent are empty, zero or `{}`. */
import { performance } from 'node:perf_hooks';
import {
  forEachName,
  type LabelDimension,
  labelDimensions,
  type PolicyDimension,
  runDimensions,
} from '../../../contract/run-dimensions.ts';
import { localTime } from '../../../kernel/local-time.ts';
import { nanosPerUsd } from '../../../kernel/money.ts';

/** A request in the form in which rules evaluate it. */
export interface PolicyInput extends PolicyLabels {
  readonly model: string;
  readonly key_id: string;
  readonly role: string;
  readonly costNanos: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly atMs: number;
}

type PolicyLabel = PolicyDimension & LabelDimension;
type PolicyLabels = Readonly<Record<PolicyLabel, string | null>>;

const policyLabels = labelDimensions.filter(
  (name): name is PolicyLabel => runDimensions[name].expression !== null,
);

/**
 * Builds an attempt from an object that may have these labels; other labels are ignored. Fields are listed one by one for speed,
 * because this runs for every call.
 */
export function attemptFrom(
  labels: Partial<PolicyLabels>,
  rest: Omit<PolicyInput, keyof PolicyLabels>,
): PolicyInput {
  return {
    provider: labels.provider ?? null,
    action: labels.action ?? null,
    workflow: labels.workflow ?? null,
    deployment: labels.deployment ?? null,
    department: labels.department ?? null,
    team: labels.team ?? null,
    customer_id: labels.customer_id ?? null,
    member_id: labels.member_id ?? null,
    project: labels.project ?? null,
    ...rest,
  };
}

/** The variables of expressions with their CEL types. */
export const variables = {
  model: 'string',
  ...forEachName(policyLabels, 'string' as const),
  key_id: 'string',
  role: 'string',
  cost_usd: 'double',
  input_tokens: 'int',
  output_tokens: 'int',
  hour: 'int',
  weekday: 'int',
  date: 'string',
  tags: 'map<string, string>',
  metadata: 'map<string, dyn>',
} as const;

export type ExpressionContext = Readonly<Record<keyof typeof variables, unknown>>;

export interface ExpressionInput {
  readonly context: ExpressionContext;
  /** False if the metadata is too large to evaluate. */
  readonly metadataFits: boolean;
  /** Returns the time since this input was built, by a monotonic clock. */
  readonly elapsedMs: () => number;
}

export const metadataValuesMax = 100;
export const metadataCharactersMax = 8_000;

const nothing = {};

export function expressionInputOf(attempt: PolicyInput, timezone: string): ExpressionInput {
  const { hour, weekday, date } = localTime(timezone, attempt.atMs);
  const startedMs = performance.now();
  return {
    metadataFits: attempt.metadata === null || fits(attempt.metadata),
    elapsedMs: () => performance.now() - startedMs,
    context: {
      model: attempt.model,
      provider: attempt.provider ?? '',
      action: attempt.action ?? '',
      workflow: attempt.workflow ?? '',
      deployment: attempt.deployment ?? '',
      department: attempt.department ?? '',
      team: attempt.team ?? '',
      customer_id: attempt.customer_id ?? '',
      member_id: attempt.member_id ?? '',
      project: attempt.project ?? '',
      key_id: attempt.key_id,
      role: attempt.role,
      // A double is exact enough to compare with a threshold. It is never used to sum amounts.
      cost_usd: Number(attempt.costNanos) / Number(nanosPerUsd),
      input_tokens: attempt.inputTokens,
      output_tokens: attempt.outputTokens,
      hour: BigInt(hour),
      weekday: BigInt(weekday),
      date,
      tags: attempt.tags ?? nothing,
      metadata: attempt.metadata ?? nothing,
    },
  };
}

function fits(metadata: object): boolean {
  let values = 0;
  let characters = 0;
  const waiting: unknown[] = [metadata];
  while (waiting.length > 0) {
    const value = waiting.pop();
    values += 1;
    if (typeof value === 'string') {
      characters += value.length;
    } else if (Array.isArray(value)) {
      if (value.length > metadataValuesMax) {
        return false;
      }
      waiting.push(...value);
    } else if (typeof value === 'object' && value !== null) {
      const keys = Object.keys(value);
      if (keys.length > metadataValuesMax) {
        return false;
      }
      for (const key of keys) {
        characters += key.length;
        waiting.push((value as Record<string, unknown>)[key]);
      }
    }
    if (values + waiting.length > metadataValuesMax + 1 || characters > metadataCharactersMax) {
      return false;
    }
  }
  return true;
}
