/** `guard`: a decision before a call, its settlement after it, and no hold left if it throws. */
import { modelIn, otherModel, runUsageOf } from '../../../src/kernel/providers/call-usage.ts';
import { fieldsOf } from '../../../src/kernel/providers/fields.ts';
import { allFormats } from '../../../src/kernel/providers/formats.ts';
import type { CreateRun, Decision, DecisionRequest } from './generated/types.ts';
import type { Settlement } from './spool.ts';

/** The usage of a call. If it is missing, the held amount is charged. */
export type RunUsage = Pick<
  CreateRun,
  | 'input_tokens'
  | 'cached_input_tokens'
  | 'cache_write_tokens'
  | 'cache_write_1h_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'audio_input_tokens'
  | 'image_input_tokens'
  | 'cached_image_input_tokens'
  | 'audio_output_tokens'
  | 'images'
  | 'units'
  | 'service_tier'
  | 'region'
  | 'served_model'
  | 'other_models'
  | 'cost_usd'
  | 'stated_cost_usd'
  | 'value_usd'
  | 'metadata'
>;

export interface GuardedCall {
  /** Undefined if Purser could not be asked, and the fail mode is `open`. */
  readonly decision: Decision | undefined;
  /** Pass it to the model, so that the cost cannot exceed the hold. */
  readonly maxOutputTokens: number | undefined;
  /** The id of the run. */
  readonly externalId: string;
  /** Reports the usage. Not needed if `fn` returns a response of OpenAI or Anthropic as it is. */
  used(usage: RunUsage): void;
}

export type GuardRequest = DecisionRequest & {
  /** Your own id of the run, unique in the organization. Default: a random one. */
  readonly external_id?: string;
};

export interface GuardDependencies {
  decide(request: DecisionRequest): Promise<Decision | undefined>;
  settle(settlement: Settlement): Promise<void>;
  void(decisionId: string): void;
}

export async function guardCall<Result>(
  deps: GuardDependencies,
  { external_id, ...request }: GuardRequest,
  fn: (call: GuardedCall) => Result | PromiseLike<Result>,
): Promise<Result> {
  const externalId = external_id ?? crypto.randomUUID();
  const decision = await deps.decide(request);
  const startedMs = Date.now();
  let reported: RunUsage | undefined;
  const settle = (status: 'succeeded' | 'failed', usage: RunUsage | undefined) =>
    deps.settle({
      ...runFields(request),
      external_id: externalId,
      status,
      ...(decision !== undefined && { decision_id: decision.decision_id }),
      latency_ms: Math.max(0, Date.now() - startedMs),
      ...(usage ?? (decision === undefined ? requestedUsage(request) : {})),
    });
  try {
    const result = await fn({
      decision,
      maxOutputTokens: decision?.max_output_tokens ?? request.max_output_tokens,
      externalId,
      used(usage) {
        reported = usage;
      },
    });
    await settle('succeeded', reported ?? usageInResponse(result, request.model));
    return result;
  } catch (error) {
    if (reported !== undefined) {
      // The model was called, and has its price.
      await settle('failed', reported);
    } else if (decision !== undefined) {
      deps.void(decision.decision_id);
    }
    throw error;
  }
}

/** Fields of a decision that say what the call may use at most. */
const estimateFields = [
  'input_tokens',
  'cache_write_1h_tokens',
  'images',
  'units',
  'max_output_tokens',
  'min_output_tokens',
  'estimated_cost_usd',
  'expires_in_seconds',
  'fit',
] as const satisfies readonly (keyof DecisionRequest)[];

/** Returns the fields of a decision that its run has, too. */
function runFields(request: DecisionRequest): Omit<DecisionRequest, (typeof estimateFields)[number]> {
  const fields: Partial<Record<keyof DecisionRequest, unknown>> = { ...request };
  for (const name of estimateFields) {
    delete fields[name];
  }
  return fields as Omit<DecisionRequest, (typeof estimateFields)[number]>;
}

/** An upper bound, for a call without a hold and without usage. */
function requestedUsage(request: DecisionRequest): RunUsage {
  const { input_tokens, cache_write_1h_tokens, images, units, max_output_tokens, estimated_cost_usd } =
    request;
  return {
    ...(input_tokens !== undefined && { input_tokens }),
    ...(cache_write_1h_tokens !== undefined && { cache_write_1h_tokens }),
    ...(images !== undefined && { images }),
    ...(units !== undefined && { units }),
    ...(max_output_tokens !== undefined && { output_tokens: max_output_tokens }),
    ...(estimated_cost_usd !== undefined && { cost_usd: estimated_cost_usd }),
  };
}

/** Returns the usage in a response of a provider; undefined for any other value. */
function usageInResponse(result: unknown, model: string): RunUsage | undefined {
  const answer = fieldsOf(result);
  const format = allFormats.find(({ response }) => response.isResponse(answer));
  const usage = format?.response.usageOf(result);
  if (usage === undefined) {
    return undefined;
  }
  const servedModel = otherModel(modelIn(answer), model);
  return { ...runUsageOf(usage), ...(servedModel !== undefined && { served_model: servedModel }) };
}
