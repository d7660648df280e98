/** Usage as Amazon Bedrock reports it. */
import { type CallUsage, noUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { countOf, isCount } from '../usage-counts.ts';

/** Returns the usage of an answer, or of the last event of a stream; undefined if a count is missing or is not a number. */
export function converseUsage(answer: unknown): CallUsage | undefined {
  const { usage, serviceTier } = fieldsOf(answer);
  const counts = fieldsOf(usage);
  if (!isCount(counts.inputTokens) || !isCount(counts.outputTokens)) {
    return undefined;
  }
  const [uncached, output] = [countOf(counts.inputTokens), countOf(counts.outputTokens)];
  const read = larger(counts, 'cacheReadInputTokens');
  const hourly = writtenFor(counts, '1h');
  const written = Math.max(larger(counts, 'cacheWriteInputTokens'), hourly + writtenFor(counts, '5m'));
  const { type: tier } = fieldsOf(serviceTier);
  const input = uncached + read + written;
  return {
    ...noUsage,
    // The count of the input leaves out what was read from the cache and written to it; that of all tokens does not.
    inputTokens: input,
    cachedInputTokens: read,
    cacheWriteTokens: written,
    cacheWrite1hTokens: hourly,
    outputTokens: Math.max(output, countOf(counts.totalTokens) - input),
    serviceTier: typeof tier === 'string' ? tier : null,
  };
}

/** Counts had a suffix before caching was generally available. */
function larger(counts: Fields, name: string): number {
  return Math.max(countOf(counts[name]), countOf(counts[`${name}Count`]));
}

/** Returns the tokens that were written to the cache for this time. */
function writtenFor({ cacheDetails }: Fields, time: string): number {
  return (Array.isArray(cacheDetails) ? cacheDetails : [])
    .map(fieldsOf)
    .filter(({ ttl }) => ttl === time)
    .reduce((sum, { inputTokens }) => sum + countOf(inputTokens), 0);
}
