/** The stage that validates a run by rules that its schema cannot express. */
import type { FieldError } from '../../../contract/errors.ts';
import { unitErrors } from '../../../ledger/service-fields.ts';
import type { DraftContext } from './draft-context.ts';
import type { RunPrice } from './find-price.ts';
import { isStatedCharged, needsPrice, type TriedUsage } from './price-run.ts';
import type { CreateRun, Measured } from './schema.ts';

const futureToleranceMs = 5 * 60_000;
/** Maximum length of metadata. It bounds the size of a page of runs. */
const metadataCharactersMax = 65_536;
const tooFarAhead = 'Must not be more than five minutes in the future.';

/** Returns the errors of a new run. */
export function validateRun(
  body: CreateRun & TriedUsage,
  price: RunPrice | undefined,
  startedAt: Date,
  context: DraftContext,
): FieldError[] {
  const errors: FieldError[] = [];
  if (body.parent_run_id !== undefined && context.parentOf(body.parent_run_id) === undefined) {
    add(errors, 'parent_run_id', 'invalid_value', 'This run does not exist.');
  }
  validateMeasured(body, startedAt, context.now, errors);
  const isRunning = body.status === 'running';
  const isComputed = needsPrice(body) && !isStatedCharged(body, price);
  if (price !== undefined && isComputed && (isRunning || body.decision_id === undefined)) {
    errors.push(...unitErrors(price, body));
  }
  if (isRunning) {
    addRunningErrors(errors, body, context);
  }
  if (body.decision_id !== undefined && context.record) {
    // Rejected, because the run would count in addition to the hold, and again when the decision is settled.
    const message = 'Backfilled runs cannot settle a decision. Post this run without `enforcement`.';
    add(errors, 'decision_id', 'invalid_value', message);
  }
  return errors;
}

function addRunningErrors(errors: FieldError[], body: CreateRun, { record }: DraftContext): void {
  if (record) {
    add(errors, 'status', 'invalid_value', 'Backfilled runs must be finished.');
  }
  if (body.served_model !== undefined) {
    const message = 'The model that serves a run is known when it has finished.';
    add(errors, 'served_model', 'invalid_value', message);
  }
  if (body.stated_cost_usd !== undefined) {
    const message = 'The provider states the cost when the run has finished.';
    add(errors, 'stated_cost_usd', 'invalid_value', message);
  }
}

/** Returns the given errors, followed by those of the fields that new runs and completions share. */
export function validateMeasured(
  body: Measured,
  startedAt: Date,
  now: Date,
  errors: FieldError[] = [],
): FieldError[] {
  addTimeErrors(errors, body, startedAt, now.getTime() + futureToleranceMs);
  addTokenErrors(errors, body);
  if (body.metadata !== undefined && JSON.stringify(body.metadata).length > metadataCharactersMax) {
    add(errors, 'metadata', 'out_of_range', `Must be at most ${metadataCharactersMax} characters as JSON.`);
  }
  return errors;
}

function addTimeErrors(errors: FieldError[], body: Measured, startedAt: Date, latestMs: number): void {
  if (startedAt.getTime() > latestMs) {
    add(errors, 'started_at', 'out_of_range', tooFarAhead);
  }
  if (body.finished_at === undefined) {
    return;
  }
  const finishedMs = Date.parse(body.finished_at);
  if (finishedMs > latestMs) {
    add(errors, 'finished_at', 'out_of_range', tooFarAhead);
  } else if (finishedMs < startedAt.getTime()) {
    add(errors, 'finished_at', 'out_of_range', 'Must not be before `started_at`.');
  }
}

const partsOfInput = [
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'audio_input_tokens',
  'image_input_tokens',
] as const;

function addTokenErrors(errors: FieldError[], body: Measured): void {
  const parts = partsOfInput.reduce((sum, name) => sum + (body[name] ?? 0), 0);
  if (parts > (body.input_tokens ?? 0)) {
    const message = 'The sum of cached, cache-write, audio and image tokens must not exceed `input_tokens`.';
    add(errors, largestOf(body), 'out_of_range', message);
  }
  if ((body.cached_image_input_tokens ?? 0) > (body.cached_input_tokens ?? 0)) {
    add(errors, 'cached_image_input_tokens', 'out_of_range', 'Must not exceed `cached_input_tokens`.');
  }
  if (body.other_models !== undefined) {
    addOtherModelErrors(errors, body, body.other_models);
  }
  const { output_tokens = 0, audio_output_tokens = 0, reasoning_tokens = 0 } = body;
  if (audio_output_tokens > output_tokens) {
    add(errors, 'audio_output_tokens', 'out_of_range', 'Must not exceed `output_tokens`.');
  } else if (reasoning_tokens + audio_output_tokens > output_tokens) {
    const message = 'The sum of reasoning and audio tokens must not exceed `output_tokens`.';
    add(errors, 'reasoning_tokens', 'out_of_range', message);
  }
}

const countsOfModels = [
  'input_tokens',
  'cached_input_tokens',
  'cached_image_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'image_input_tokens',
  'output_tokens',
  'reasoning_tokens',
] as const;

function addOtherModelErrors(
  errors: FieldError[],
  body: Measured,
  others: NonNullable<Measured['other_models']>,
): void {
  for (const name of countsOfModels) {
    if (others.reduce((sum, other) => sum + (other[name] ?? 0), 0) > (body[name] ?? 0)) {
      add(errors, 'other_models', 'out_of_range', `The sum of \`${name}\` must not exceed that of the run.`);
      return;
    }
  }
}

/** Returns the field name of the largest part of the input tokens, which is the most likely one to be wrong. */
function largestOf(body: Measured): (typeof partsOfInput)[number] {
  return partsOfInput.reduce((one, other) => ((body[other] ?? 0) > (body[one] ?? 0) ? other : one));
}

function add(errors: FieldError[], field: string, code: FieldError['code'], message: string): void {
  errors.push({ field, code, message });
}
