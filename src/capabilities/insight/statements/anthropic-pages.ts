/** Pages of Anthropic's `/v1/organizations/cost_report` and `/v1/organizations/usage_report/messages`. */
import { invalidField } from '../../../contract/api-error.ts';
import type { LineCollector } from './line-collector.ts';
import { type At, amountAt, countAt, itemsAt, member, objectAt, textAt, timeAt } from './page-fields.ts';
import { kindIn, noTokens, type ReadPage, type StatementSource } from './statement-line.ts';

/** Adds the lines of a page. */
export function readAnthropicPage(page: At, lines: LineCollector, seen: Set<string>): ReadPage {
  let source: StatementSource | undefined;
  let startMs = Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const bucket of itemsAt(member(page, 'data'))) {
    const bucketStartMs = timeAt(member(bucket, 'starting_at'));
    const bucketEndMs = timeAt(member(bucket, 'ending_at'));
    const day = lines.bucket(bucket.field, bucketStartMs, bucketEndMs);
    startMs = Math.min(startMs, bucketStartMs);
    endMs = Math.max(endMs, bucketEndMs);
    for (const result of itemsAt(member(bucket, 'results'))) {
      const isCost = member(result, 'amount').value !== undefined;
      if (!isCost && member(result, 'uncached_input_tokens').value === undefined) {
        throw invalidField(result.field, 'invalid_value', 'Must have `amount` or `uncached_input_tokens`.');
      }
      const found = isCost ? 'anthropic_cost' : 'anthropic_usage';
      if (source !== undefined && source !== found) {
        throw invalidField(result.field, 'invalid_value', 'A page has results of one report only.');
      }
      source = found;
      (isCost ? addCost : addUsage)(result, day, lines);
    }
    const name = `${source} ${bucketStartMs}`;
    if (source !== undefined && seen.has(name)) {
      throw invalidField(bucket.field, 'invalid_value', 'This time bucket appears twice.');
    }
    seen.add(name);
  }
  return { source, startMs, endMs };
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
