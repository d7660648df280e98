/** Pages of OpenAI's `/v1/organization/costs` and `/v1/organization/usage/completions`. */
import { invalidField } from '../../../contract/api-error.ts';
import type { LineCollector } from './line-collector.ts';
import {
  type At,
  amountAt,
  countAt,
  itemsAt,
  literalAt,
  member,
  objectAt,
  textAt,
  timeAt,
} from './page-fields.ts';
import { kindIn, noTokens, type ReadPage, type StatementSource } from './statement-line.ts';

const costsResult = 'organization.costs.result';
const usageResult = 'organization.usage.completions.result';

/** Adds the lines of a page. */
export function readOpenAiPage(page: At, lines: LineCollector, seen: Set<string>): ReadPage {
  literalAt(member(page, 'object'), 'page');
  let source: StatementSource | undefined;
  let startMs = Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const bucket of itemsAt(member(page, 'data'))) {
    literalAt(member(bucket, 'object'), 'bucket');
    const bucketStartMs = timeAt(member(bucket, 'start_time'));
    const bucketEndMs = timeAt(member(bucket, 'end_time'));
    const day = lines.bucket(bucket.field, bucketStartMs, bucketEndMs);
    startMs = Math.min(startMs, bucketStartMs);
    endMs = Math.max(endMs, bucketEndMs);
    for (const result of itemsAt(member(bucket, 'results'))) {
      const found = sourceOf(result);
      if (source !== undefined && source !== found) {
        throw invalidField(
          `${result.field}.object`,
          'invalid_value',
          'A page has results of one report only.',
        );
      }
      source = found;
      (found === 'openai_costs' ? addCost : addUsage)(result, day, lines);
    }
    const name = `${source} ${bucketStartMs}`;
    if (source !== undefined && seen.has(name)) {
      throw invalidField(bucket.field, 'invalid_value', 'This time bucket appears twice.');
    }
    seen.add(name);
  }
  return { source, startMs, endMs };
}

function sourceOf(result: At): 'openai_costs' | 'openai_usage' {
  const object = member(result, 'object');
  if (object.value !== costsResult && object.value !== usageResult) {
    throw invalidField(object.field, 'invalid_value', `Must be "${costsResult}" or "${usageResult}".`);
  }
  return object.value === costsResult ? 'openai_costs' : 'openai_usage';
}

/** A line item is a model with the kind of tokens, such as `gpt-4o-2024-08-06, cached input`, or another charge. */
function addCost(result: At, day: string, lines: LineCollector): void {
  const amount = objectAt(member(result, 'amount'));
  const currency = member(amount, 'currency');
  if (textAt(currency).toLowerCase() !== 'usd') {
    throw invalidField(currency.field, 'invalid_value', 'Must be usd.');
  }
  const item = member(result, 'line_item');
  const text = textAt(item);
  if (text === '') {
    throw invalidField(item.field, 'required', 'Request the costs with `group_by=line_item`.');
  }
  const comma = text.lastIndexOf(', ');
  const kind = comma === -1 ? '' : kindIn(text.slice(comma + 2));
  lines.add(
    result.field,
    {
      day,
      model: kind === '' ? text : text.slice(0, comma),
      project: textAt(member(result, 'project_id')),
      keyId: textAt(member(result, 'api_key_id')),
      kind,
      tokens: noTokens,
    },
    amountAt(member(amount, 'value')),
  );
}

function addUsage(result: At, day: string, lines: LineCollector): void {
  const model = member(result, 'model');
  if (textAt(model) === '') {
    throw invalidField(model.field, 'required', 'Request the usage with `group_by=model`.');
  }
  const cached = countAt(member(result, 'input_cached_tokens'));
  // `input_tokens` counts text only, unless the result has a count of text of its own.
  const isTotal = member(result, 'input_text_tokens').value != null;
  const audio = (name: string) => (isTotal ? 0n : countAt(member(result, name)));
  const input = countAt(member(result, 'input_tokens')) + audio('input_audio_tokens');
  if (cached > input) {
    throw invalidField(
      `${result.field}.input_cached_tokens`,
      'out_of_range',
      'Must not exceed `input_tokens`.',
    );
  }
  lines.add(result.field, {
    day,
    model: textAt(model),
    project: textAt(member(result, 'project_id')),
    keyId: textAt(member(result, 'api_key_id')),
    kind: '',
    tokens: {
      uncached_input: input - cached,
      cached_input: cached,
      cache_write: 0n,
      output: countAt(member(result, 'output_tokens')) + audio('output_audio_tokens'),
    },
  });
}
