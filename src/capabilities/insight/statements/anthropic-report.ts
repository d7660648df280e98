/** Results of Anthropic's `/v1/organizations/cost_report` and `/v1/organizations/usage_report/messages`. */
import { invalidField } from '../../../contract/api-error.ts';
import type { LineCollector } from './line-collector.ts';
import { type At, amountAt, countAt, member, objectAt, textAt } from './page-fields.ts';
import type { ReportFormat } from './report-format.ts';
import { kindIn, noTokens } from './statement-line.ts';
import type { StatementSource } from './statement-source.ts';

export const anthropicReport: ReportFormat = {
  provider: 'anthropic',
  start: 'starting_at',
  end: 'ending_at',
  sourceOf,
  add: (source, result, day, lines) =>
    source === 'anthropic_cost' ? addCost(result, day, lines) : addUsage(result, day, lines),
};

function sourceOf(result: At): StatementSource {
  if (member(result, 'amount').value !== undefined) {
    return 'anthropic_cost';
  }
  if (member(result, 'uncached_input_tokens').value === undefined) {
    throw invalidField(result.field, 'invalid_value', 'Must have `amount` or `uncached_input_tokens`.');
  }
  return 'anthropic_usage';
}

const cents = 2;

/** Amounts are in cents. Charges other than tokens have no model; their description takes its place. */
function addCost(result: At, day: string, lines: LineCollector): void {
  const currency = member(result, 'currency');
  if (textAt(currency).toUpperCase() !== 'USD') {
    throw invalidField(currency.field, 'invalid_value', 'Must be USD.');
  }
  const description = member(result, 'description');
  const model = textAt(member(result, 'model')) || textAt(description);
  if (model === '') {
    throw invalidField(description.field, 'required', 'Request the costs with `group_by[]=description`.');
  }
  lines.add(
    result.field,
    {
      day,
      model,
      project: textAt(member(result, 'workspace_id')),
      keyId: '',
      kind: kindIn(textAt(member(result, 'token_type'))),
      tokens: noTokens,
    },
    amountAt(member(result, 'amount'), cents),
  );
}

function addUsage(result: At, day: string, lines: LineCollector): void {
  const model = member(result, 'model');
  if (textAt(model) === '') {
    throw invalidField(model.field, 'required', 'Request the usage with `group_by[]=model`.');
  }
  const creation = member(result, 'cache_creation');
  const written =
    creation.value == null
      ? 0n
      : countAt(member(objectAt(creation), 'ephemeral_5m_input_tokens')) +
        countAt(member(creation, 'ephemeral_1h_input_tokens'));
  lines.add(result.field, {
    day,
    model: textAt(model),
    project: textAt(member(result, 'workspace_id')),
    keyId: textAt(member(result, 'api_key_id')),
    kind: '',
    tokens: {
      uncached_input: countAt(member(result, 'uncached_input_tokens')),
      cached_input: countAt(member(result, 'cache_read_input_tokens')),
      cache_write: written,
      output: countAt(member(result, 'output_tokens')),
    },
  });
}
