/** The run of a reported call. */

import { wordPattern } from '../../../kernel/service-words.ts';
import { tagsMax, tokensMax } from '../../../ledger/scope.ts';
import { isStorable } from '../../../platform/http/message/json-errors.ts';
import { isResponseId, type ReportedRun } from '../../spend/runs/index.ts';
import type { CallTokens, ModelCall } from './model-call.ts';

const labelMax = 200;
const tagNameMax = 64;
const latencyMsMax = 31_536_000_000;
const isTier = new RegExp(wordPattern);

/**
 * `model` is the name to price the call by. The cost that the emitter states is always kept as metadata; it is also the cost of the
 * run if `usesStatedCost`. Times in the future are replaced by `now`: the clock of their emitter is ahead.
 */
export function runOfCall(
  call: ModelCall,
  { model, usesStatedCost, now }: { model: string; usesStatedCost: boolean; now: Date },
): ReportedRun {
  const nowMs = now.getTime();
  const endMs = Math.min(call.endMs || call.startMs || nowMs, nowMs);
  const startMs = Math.min(call.startMs || endMs, endMs);
  const { usage, labels } = call;
  const cost = statedCost(call);
  const isFree = call.isFailed && usage.input + usage.output === 0;
  const responseId = call.responseId;
  return {
    body: {
      external_id: call.externalId,
      model,
      status: call.isFailed ? 'failed' : 'succeeded',
      ...labelsOf(labels),
      ...(call.chainId !== '' && isLabel(call.chainId) && { chain_id: call.chainId }),
      tags: tagsOf(labels.tags),
      ...tokenFields(usage),
      ...(usesStatedCost && cost !== undefined ? { cost_usd: cost } : isFree && { cost_usd: '0' }),
      ...(call.serviceTier !== undefined &&
        isTier.test(call.serviceTier) && { service_tier: call.serviceTier }),
      started_at: new Date(startMs).toISOString(),
      finished_at: new Date(endMs).toISOString(),
      latency_ms: Math.min(endMs - startMs, latencyMsMax),
      metadata: metadataOf(call, cost),
    },
    responseId: responseId !== undefined && isResponseId(responseId) ? responseId : undefined,
    reportId: reportIdOf(call, call.spanKey),
    outerId: reportIdOf(call, call.parentKey),
    outerExternalId: call.isEmbedding || call.parentKey === '' ? undefined : call.parentKey,
    hasUsage: usage.isKnown,
    marks: usage.isKnown || call.isFailed ? [] : ['usage_missing'],
  };
}

/** No id of a response looks like it. The span around a call is that of the same call if both are for embeddings, or neither. */
function reportIdOf({ isEmbedding }: ModelCall, spanKey: string): string | undefined {
  return spanKey === '' ? undefined : `span:${spanKey}${isEmbedding ? ':embedding' : ''}`;
}

function tokenFields({
  input,
  cached,
  cacheWrite,
  cacheWrite1h,
  output,
  reasoning,
  audioInput,
  audioOutput,
  imageInput,
  cachedImage,
}: CallTokens) {
  return {
    input_tokens: Math.min(input, tokensMax),
    cached_input_tokens: cached,
    cache_write_tokens: cacheWrite - cacheWrite1h,
    ...(cacheWrite1h > 0 && { cache_write_1h_tokens: cacheWrite1h }),
    output_tokens: Math.min(output, tokensMax),
    ...(reasoning > 0 && { reasoning_tokens: reasoning }),
    ...(audioInput > 0 && { audio_input_tokens: audioInput }),
    ...(audioOutput > 0 && { audio_output_tokens: audioOutput }),
    ...(imageInput > 0 && { image_input_tokens: imageInput }),
    ...(cachedImage > 0 && { cached_image_input_tokens: cachedImage }),
  };
}

function metadataOf(call: ModelCall, cost: string | undefined): Record<string, unknown> {
  const { convention, responseId, responseModel } = call;
  return {
    telemetry: convention,
    ...(responseId !== undefined && isLabel(responseId) && { response_id: responseId }),
    ...(responseModel !== undefined && isLabel(responseModel) && { response_model: responseModel }),
    ...(cost !== undefined && { stated_cost_usd: cost }),
  };
}

/** Returns the amount as the API takes it: nine decimals, no exponent. */
function statedCost({ statedCost: amount }: ModelCall): string | undefined {
  return amount === undefined || amount >= 1e9 ? undefined : trimmed(amount.toFixed(9));
}

function trimmed(decimal: string): string {
  return decimal.replace(/\.?0+$/, '');
}

function labelsOf({ tags: _, ...labels }: ModelCall['labels']): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [field, value] of Object.entries(labels)) {
    if (value !== undefined && isLabel(value)) {
      kept[field] = value;
    }
  }
  return kept;
}

/** Values that a run cannot have are left out: the call counts without them. */
function tagsOf(tags: Readonly<Record<string, string>>): Record<string, string> {
  const valid = Object.entries(tags).filter(
    ([name, value]) =>
      isLabel(name, tagNameMax) && name !== '__proto__' && value.length <= labelMax && isStorable(value),
  );
  return Object.fromEntries(valid.slice(0, tagsMax));
}

export function isLabel(text: string, max = labelMax): boolean {
  return text.length > 0 && text.length <= max && isStorable(text);
}
