/** Plans the input of a call: what the body contains, and the maximum number of tokens that one pass of the model may read. */
import {
  type Connection,
  type GatewaySettings,
  kindOf,
} from '../capabilities/integration/connections/index.ts';
import {
  type EstimateRules,
  estimatedInputTokens,
  type InputParts,
  seenInputTokens,
} from '../kernel/providers/estimate-input.ts';
import { familyOf } from '../kernel/providers/model-family.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { inputPartsOf } from './body/input-parts.ts';
import { ratioOfBytes, type TokenRatios } from './body/token-ratios.ts';
import { extraOutputTokens } from './extra-output.ts';
import type { ParsedCall } from './parse-call.ts';
import { type HeldUnseen, requireSeen } from './unseen-input.ts';

export interface PlannedInput {
  readonly input: InputParts;
  /** Input tokens of one pass of the model. */
  readonly passTokens: number;
  /** Set if more input is held than was counted. */
  readonly heldUnseen: HeldUnseen | undefined;
  /** Output that the provider may charge besides the maximum: predicted text, summaries, reasoning. */
  readonly predictedTokens: number;
}

export interface InputRules {
  readonly orgId: string;
  readonly caller: Caller;
  readonly call: ParsedCall;
  readonly model: string;
  readonly ratios: TokenRatios;
  readonly settings: GatewaySettings;
  readonly candidates: readonly Connection[];
  /** Context of the model according to the catalog. */
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** Value of the header that turns on beta features. */
  readonly betas: string;
  readonly offersTools: boolean;
}

/** Context to assume if neither the org nor the catalog states more: the largest context of widely used models. */
export const unknownContextTokens = 1_050_000;

export function planInput(rules: InputRules): PlannedInput {
  const { orgId, caller, call, model, settings } = rules;
  const countsBytes = settings.unknownTokenizer === 'bytes' && !hasKnownTokenizer(rules);
  const read = inputPartsOf(call, model, countsBytes ? 'normalized' : 'written');
  requireSeen(settings, read);
  // Results of provider-run tools become input, so the input counts as unseen.
  const input = !rules.offersTools || read.hasUnseen ? read : { ...read, hasUnseen: true };
  const ratio = countsBytes ? ratioOfBytes : rules.ratios.of({ orgId, keyId: caller.keyId, model }, input);
  const contextTokens = contextOf(rules);
  const inputs = call.format.request.inputsOf?.(call.body) ?? 1;
  const estimateRules: EstimateRules = {
    ratio,
    unseenTokens: (settings.unseenInputTokens ?? contextTokens ?? unknownContextTokens) * inputs,
    contextTokens: contextTokens === undefined ? undefined : contextTokens * inputs,
    isContextEnforced: isContextEnforced(rules),
    hasTools: call.hasTools,
  };
  const passTokens = estimatedInputTokens(input, estimateRules);
  const heldUnseen =
    input.hasUnseen && passTokens > seenInputTokens(input, estimateRules)
      ? { unseen: input.unseen, passTokens }
      : undefined;
  const predictedTokens = extraOutputTokens(call, {
    ratio,
    modelMax: rules.maxOutputTokens ?? contextTokens ?? unknownContextTokens,
    isAnyProvider: rules.candidates.some((one) => kindOf(one).isAnyProvider),
  });
  return { input, passTokens, heldUnseen, predictedTokens };
}

/** Returns true if the tokenizer is known. Some providers may serve a model with another tokenizer under this name. */
function hasKnownTokenizer({ model, candidates }: InputRules): boolean {
  return familyOf(model) === 'o200k' && candidates.every((one) => kindOf(one).namesModels);
}

/** Matches a header of the client or the connection that extends the context, such as `context-1m-2025-08-07`. */
const extendedContext = /context-(\d{1,4})([km])\b/gi;
const unitTokens: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

function contextOf({ call, contextTokens, betas, candidates }: InputRules): number | undefined {
  const { betas: names } = call.format.request;
  if (names === undefined || contextTokens === undefined) {
    return contextTokens;
  }
  const given = [
    betas,
    ...candidates.flatMap(({ headers }) => Object.values(headers)),
    JSON.stringify(call.body[names.member] ?? ''),
  ].join();
  let largest = contextTokens;
  for (const [, count, unit = ''] of given.matchAll(extendedContext)) {
    largest = Math.max(largest, Number(count) * (unitTokens[unit.toLowerCase()] ?? 1));
  }
  return largest;
}

/** Returns true if the context of the catalog bounds the input. Some providers may serve another model under this name. */
function isContextEnforced({ call, candidates }: InputRules): boolean {
  return call.format.request.inputsOf === undefined && candidates.every((one) => kindOf(one).enforcesContext);
}
