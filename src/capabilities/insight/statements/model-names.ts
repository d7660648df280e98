/** Matches the model as billed with the model of runs. */
import { withoutDateSuffix, withoutProviderPrefixes } from '../../../kernel/model-names.ts';

/** Returns the name without provider prefix and date, in lower case. Names that differ only in these are one model. */
export function matchingName(model: string): string {
  const name = model.trim().toLowerCase();
  const bare = withoutProviderPrefixes(name).at(-1) ?? name;
  return withoutDateSuffix(bare) ?? bare;
}
