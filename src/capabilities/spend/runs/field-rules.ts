/** Rules about the fields of a run that its schema cannot state. */
import type { FieldError } from '../../../contract/errors.ts';
import type { Measured } from './schema.ts';

const futureToleranceMs = 5 * 60_000;
/** Limits the metadata of a run, and so the size of a page of runs. */
const metadataCharactersMax = 65_536;

export function fieldError(field: string, code: FieldError['code'], message: string): FieldError {
  return { field, code, message };
}

const tooFarAhead = 'Must not be more than five minutes in the future.';

export function addTimeErrors(
  fieldErrors: FieldError[],
  body: { finished_at?: string },
  startedAt: Date,
  now: Date,
): void {
  if (startedAt.getTime() > now.getTime() + futureToleranceMs) {
    fieldErrors.push(fieldError('started_at', 'out_of_range', tooFarAhead));
  }
  if (body.finished_at !== undefined) {
    const finishedAt = new Date(body.finished_at);
    if (finishedAt.getTime() > now.getTime() + futureToleranceMs) {
      fieldErrors.push(fieldError('finished_at', 'out_of_range', tooFarAhead));
    } else if (finishedAt < startedAt) {
      fieldErrors.push(fieldError('finished_at', 'out_of_range', 'Must not be before `started_at`.'));
    }
  }
}

const partsOfInput = [
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'audio_input_tokens',
] as const;

export function addTokenErrors(fieldErrors: FieldError[], body: Measured): void {
  const parts =
    (body.cached_input_tokens ?? 0) +
    (body.cache_write_tokens ?? 0) +
    (body.cache_write_1h_tokens ?? 0) +
    (body.audio_input_tokens ?? 0);
  if (parts > (body.input_tokens ?? 0)) {
    fieldErrors.push(
      fieldError(
        largestOf(body),
        'out_of_range',
        'The sum of cached, cache-write and audio tokens must not exceed `input_tokens`.',
      ),
    );
  }
  if ((body.audio_output_tokens ?? 0) > (body.output_tokens ?? 0)) {
    fieldErrors.push(fieldError('audio_output_tokens', 'out_of_range', 'Must not exceed `output_tokens`.'));
  }
}

/** Returns the field name of the largest part of the input tokens, which is the most likely one to be wrong. */
function largestOf(body: Measured): (typeof partsOfInput)[number] {
  return partsOfInput.reduce((one, other) => ((body[other] ?? 0) > (body[one] ?? 0) ? other : one));
}

export function addMetadataErrors(fieldErrors: FieldError[], { metadata }: Measured): void {
  if (metadata !== undefined && JSON.stringify(metadata).length > metadataCharactersMax) {
    const message = `Must be at most ${metadataCharactersMax} characters as JSON.`;
    fieldErrors.push(fieldError('metadata', 'out_of_range', message));
  }
}
