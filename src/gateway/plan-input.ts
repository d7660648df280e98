/** Plans the input of a call: what its body has, and the most tokens that one pass of the model may read. */
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
  /** Set if more is held than the seen input may have. */
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
  /** The context of the model, as the catalog says. */
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** The value of the header that turns features on. */
  readonly betas: string;
  readonly offersTools: boolean;
}

/** Assumed if neither the org nor the catalog says more: the largest context of the models that are widely used. */
export const unknownContextTokens = 1_050_000;

export function planInput(rules: InputRules): PlannedInput {
  const { orgId, caller, call, model, settings } = rules;
  const countsBytes = settings.unknownTokenizer === 'bytes' && !hasKnownTokenizer(rules);
  const read = inputPartsOf(call, model, countsBytes ? 'normalized' : 'written');
  requireSeen(settings, read);
  // Results of tools that the provider runs become input.
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

/** Other providers may serve a model with another tokenizer under this name. */
function hasKnownTokenizer({ model, candidates }: InputRules): boolean {
  return familyOf(model) === 'o200k' && candidates.every((one) => kindOf(one).namesModels);
}

/** A header of the client or of a connection may extend the context: `context-1m-2025-08-07`. */
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

/** Other providers may serve another model than the catalog has under this name. */
function isContextEnforced({ call, candidates }: InputRules): boolean {
  return call.format.request.inputsOf === undefined && candidates.every((one) => kindOf(one).enforcesContext);
}
