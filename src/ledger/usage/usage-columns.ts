/** Columns and row identity of `usage_rollups` and `usage_days`. `usage_totals` has no dimensions. */
import { createHash } from 'node:crypto';
import { runDimensions, type UsageDimension, usageDimensions } from '../../contract/run-dimensions.ts';
import type { Tags } from '../../kernel/limits.ts';

export const usageMeasures = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
  'value_nanos',
  'latency_ms',
  'cache_savings_nanos',
] as const;
export type UsageMeasure = (typeof usageMeasures)[number];

/** A dimension without a value is the empty text. */
export type UsageDimensions = Readonly<Record<UsageDimension, string>>;

/**
 * Returns a text that is equal for two rows of the same time if and only if they must be merged into one row. The
 * length of the text is not limited.
 */
export function usageIdentity(dimensions: UsageDimensions, tags: Tags | null): string {
  const values = firstDimensions.map((name) => dimensions[name]).join('\u0001') + addedValues(dimensions);
  // Rows without tags have the same identity as before tags existed.
  return tags === null ? values : values + JSON.stringify(tags);
}

const firstDimensions = usageDimensions.filter((name) => runDimensions[name].since === '0.1.0');
/** A row without a value in these has the same identity as before they were added. */
const addedDimensions = usageDimensions.filter((name) => runDimensions[name].since !== '0.1.0');

function addedValues(dimensions: UsageDimensions): string {
  return (
    addedDimensions
      .filter((name) => dimensions[name] !== '')
      // As JSON, because a label may have any character: no value reads like another dimension or like tags.
      .map((name) => JSON.stringify([name, dimensions[name]]))
      .join('')
  );
}

/** The column `digest`: part of the primary key, so it is short. */
export function usageDigest(identity: string): string {
  return createHash('sha1').update(identity).digest('base64url');
}
