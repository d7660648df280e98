/**
 * Digest of a run's request body, stored with its `external_id`. A repeated run has the same digest; a different run with a used
 * `external_id` is rejected. Retention or an erasure removes the details of a run but not the digest. So the digest is keyed, and
 * reveals nothing about the body without the key.
 */
import { hash } from 'node:crypto';
import { labelDimensions, runDimensions } from '../../../contract/run-dimensions.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { defaultHoldSeconds } from '../../../ledger/scope.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { CreateRun } from './schema.ts';

export type RunDigest = (orgId: string, body: CreateRun) => string;

const firstLabels = labelDimensions.filter((name) => runDimensions[name].since === '0.1.0');
const laterLabels = labelDimensions.filter((name) => runDimensions[name].since !== '0.1.0');

/** 132 bits, which make accidental collisions practically impossible. */
const digestCharacters = 22;

/**
 * Returns the digest function: a truncated SHA-256 of the key and the body. The truncation prevents length extension. An HMAC would
 * take four times as long, and a bulk request needs a digest for each run.
 */
export function createRunDigest(secrets: Pick<Secrets, 'sign'>): RunDigest {
  const key = secrets.sign('', 'content of a run').toString('hex');
  return (orgId, body) =>
    hash('sha256', `${key} ${orgId} ${normalized(body)}`, 'base64url').slice(0, digestCharacters);
}

/**
 * Returns the canonical form of the body. Amounts are compared by value and times by instant; tags and metadata in any order. A
 * missing field equals its default, or only another missing one if it has no default. The order of the fields is part of every
 * stored digest, so new fields must be appended at the end, and only if the body has them.
 */
function normalized(body: CreateRun): string {
  return JSON.stringify([
    body.model,
    body.status ?? 'succeeded',
    ...firstLabels.map((name) => body[name]),
    body.parent_run_id,
    body.decision_id,
    body.input_tokens ?? 0,
    body.cached_input_tokens ?? 0,
    body.cache_write_tokens ?? 0,
    body.output_tokens ?? 0,
    body.audio_input_tokens ?? 0,
    body.audio_output_tokens ?? 0,
    body.images ?? 0,
    nanosOf(body.cost_usd),
    nanosOf(body.value_usd),
    nanosOf(body.estimated_cost_usd),
    body.max_output_tokens,
    body.expires_in_seconds ?? defaultHoldSeconds,
    body.latency_ms,
    instantOf(body.started_at),
    instantOf(body.finished_at),
    body.tags === undefined ? '{}' : canonicalJson(body.tags),
    body.metadata === undefined ? '{}' : canonicalJson(body.metadata),
    body.content,
    ...laterLabels.flatMap((name) => (body[name] === undefined ? [] : [{ [name]: body[name] }])),
    ...servedAs(body),
    ...(body.served_model === undefined ? [] : [{ served_model: body.served_model }]),
    ...(body.reasoning_tokens ? [{ reasoning_tokens: body.reasoning_tokens }] : []),
    ...(body.other_models?.length ? [{ other_models: canonicalJson(body.other_models) }] : []),
    ...(body.stated_cost_usd === undefined ? [] : [{ stated_cost_usd: nanosOf(body.stated_cost_usd) }]),
    ...(body.image_input_tokens ? [{ image_input_tokens: body.image_input_tokens }] : []),
    ...(body.cached_image_input_tokens
      ? [{ cached_image_input_tokens: body.cached_image_input_tokens }]
      : []),
  ]);
}

/** Returns fields that release 0.1.0 did not have; empty if the body has none of them. */
function servedAs({ service_tier, region, cache_write_1h_tokens = 0, units = {} }: CreateRun): object[] {
  const hasUnits = Object.keys(units).length > 0;
  return service_tier === undefined && region === undefined && cache_write_1h_tokens === 0 && !hasUnits
    ? []
    : [{ service_tier, region, cache_write_1h_tokens, units: canonicalJson(units) }];
}

function nanosOf(usd: string | undefined): string | undefined {
  return usd === undefined ? undefined : parseUsd(usd)?.toString();
}

function instantOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
