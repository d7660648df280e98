/** Results of OpenAI's `/v1/organization/costs` and `/v1/organization/usage/…`. */
import { invalidField } from '../../../contract/api-error.ts';
import type { LineCollector } from './line-collector.ts';
import { type At, amountAt, countAt, member, objectAt, textAt } from './page-fields.ts';
import type { ReportFormat } from './report-format.ts';
import { kindIn, type LineTokens, noTokens } from './statement-line.ts';
import type { StatementSource } from './statement-source.ts';

export const openAiReport: ReportFormat = {
  provider: 'openai',
  start: 'start_time',
  end: 'end_time',
  sourceOf,
  add(source, result, day, lines) {
    if (source === 'openai_costs') {
      addCost(result, day, lines);
    } else {
      addUsage(result, day, lines, source === 'openai_usage' ? tokensOf(result) : inputOf(result));
    }
  },
};

const costsResult = 'organization.costs.result';
const usageResult = /^organization\.usage\.([a-z_]{1,100})\.result$/;
/** Sources by the name in the `object` of their results. */
const usageSources: Readonly<Record<string, StatementSource>> = {
  completions: 'openai_usage',
  embeddings: 'openai_embeddings',
  moderations: 'openai_moderations',
  images: 'openai_images',
  audio_speeches: 'openai_audio_speeches',
  audio_transcriptions: 'openai_audio_transcriptions',
  vector_stores: 'openai_vector_stores',
  code_interpreter_sessions: 'openai_code_interpreter_sessions',
  file_searches: 'openai_file_searches',
  web_searches: 'openai_web_searches',
};

function sourceOf(result: At): StatementSource {
  const { value, field } = member(result, 'object');
  if (value === costsResult) {
    return 'openai_costs';
  }
  const name = typeof value === 'string' ? usageResult.exec(value)?.[1] : undefined;
  if (name === undefined) {
    throw invalidField(
      field,
      'invalid_value',
      `Must be "${costsResult}", or a result of usage such as "organization.usage.completions.result".`,
    );
  }
  return Object.hasOwn(usageSources, name) ? (usageSources[name] as StatementSource) : 'openai_other';
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
    throw invalidField(
      item.field,
      'required',
      'Request the costs with `group_by=line_item`, or group the export by line item.',
    );
  }
  const comma = text.lastIndexOf(', ');
  const kind = comma === -1 ? '' : kindIn(text.slice(comma + 2));
  const subject = comma === -1 ? '' : text.slice(0, comma);
  lines.add(
    result.field,
    {
      day,
      model: kind !== '' || isModel(subject) ? subject : text,
      project: textAt(member(result, 'project_id')),
      keyId: textAt(member(result, 'api_key_id')),
      kind,
      tokens: noTokens,
    },
    amountAt(member(amount, 'value')),
  );
}

/** Names of models have no spaces, names of other charges do. */
function isModel(subject: string): boolean {
  return /^\S+$/.test(subject);
}

function addUsage(result: At, day: string, lines: LineCollector, tokens: LineTokens): void {
  const model = member(result, 'model');
  if (textAt(model) === '') {
    throw invalidField(
      model.field,
      'required',
      'Request the usage with `group_by=model`, or group the export by model.',
    );
  }
  lines.add(result.field, {
    day,
    model: textAt(model),
    project: textAt(member(result, 'project_id')),
    keyId: textAt(member(result, 'api_key_id')),
    kind: '',
    tokens,
  });
}

function tokensOf(result: At): LineTokens {
  const cached = countAt(member(result, 'input_cached_tokens'));
  const written = countAt(member(result, 'input_cache_write_tokens'));
  // `input_tokens` counts text only, unless the result has a count of text of its own.
  const isTotal = member(result, 'input_text_tokens').value != null;
  const audio = (name: string) => (isTotal ? 0n : countAt(member(result, name)));
  const input = countAt(member(result, 'input_tokens')) + audio('input_audio_tokens');
  if (cached + written > input) {
    throw invalidField(
      `${result.field}.input_cached_tokens`,
      'out_of_range',
      'Must not exceed `input_tokens`.',
    );
  }
  return {
    uncached_input: input - cached - written,
    cached_input: cached,
    cache_write: written,
    output: countAt(member(result, 'output_tokens')) + audio('output_audio_tokens'),
  };
}

/** Embeddings and moderations have no output. */
function inputOf(result: At): LineTokens {
  return { ...noTokens, uncached_input: countAt(member(result, 'input_tokens')) };
}
