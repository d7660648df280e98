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

/** The dimensions of a usage row. A dimension without a value is the empty string. */
export type UsageDimensions = Readonly<Record<UsageDimension, string>>;

/**
 * Returns a string that identifies a usage row among those of the same time: rows with equal strings must be merged. Its length is
 * not limited.
 */
export function usageIdentity(dimensions: UsageDimensions, tags: Tags | null): string {
  const values = firstDimensions.map((name) => dimensions[name]).join('\u0001') + addedValues(dimensions);
  // Rows without tags keep the identity that they had before tags were added.
  return tags === null ? values : values + JSON.stringify(tags);
}

const firstDimensions = usageDimensions.filter((name) => runDimensions[name].since === '0.1.0');
/** Dimensions that were added later. A row without values for them keeps its earlier identity. */
const addedDimensions = usageDimensions.filter((name) => runDimensions[name].since !== '0.1.0');

function addedValues(dimensions: UsageDimensions): string {
  return (
    addedDimensions
      .filter((name) => dimensions[name] !== '')
      // Encoded as JSON, because a label may contain any character and must not look like another dimension or like tags.
      .map((name) => JSON.stringify([name, dimensions[name]]))
      .join('')
  );
}

/** Returns the value of the column `digest`. It is part of the primary key, so it is short. */
export function usageDigest(identity: string): string {
  return createHash('sha1').update(identity).digest('base64url');
}
