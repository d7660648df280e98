/**
 * A digest of what the caller said about a run, kept with its `external_id`: the same run again has the same digest, and a
 * different run under a used `external_id` is refused. It outlives the details of the run, which retention or an erasure
 * removes, so it is keyed: without the key nobody can tell from it what was said.
 */
import { hash } from 'node:crypto';
import { parseUsd } from '../../../kernel/money.ts';
import { defaultHoldSeconds } from '../../../ledger/scope.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { CreateRun } from './schema.ts';

export type RunDigest = (orgId: string, body: CreateRun) => string;

/** 132 bits: enough that two runs never share a digest by accident. */
const digestCharacters = 22;

/**
 * SHA-256 of the key and the content, cut short, which keeps anyone from extending what was said. An HMAC would take four times
 * as long, and a bulk request has a digest for each of its runs.
 */
export function createRunDigest(secrets: Pick<Secrets, 'sign'>): RunDigest {
  const key = secrets.sign('', 'content of a run').toString('hex');
  return (orgId, body) =>
    hash('sha256', `${key} ${orgId} ${normalized(body)}`, 'base64url').slice(0, digestCharacters);
}

/**
 * Everything that was said, in this order. Amounts count by value, times by instant, tags and metadata without their order;
 * a field that was left out equals its default, and where it has none only a field that was left out. The order of the fields
 * is part of every digest that is stored: a new field goes to the end, and only where it was said.
 */
function normalized(body: CreateRun): string {
  return JSON.stringify([
    body.model,
    body.status ?? 'succeeded',
    body.provider,
    body.action,
    body.workflow,
    body.deployment,
    body.department,
    body.team,
    body.customer_id,
    body.chain_id,
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
  ]);
}

function nanosOf(usd: string | undefined): string | undefined {
  return usd === undefined ? undefined : parseUsd(usd)?.toString();
}

function instantOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
