/** Kinds of scopes that a budget can have. The first four are in the frozen contract. */
import { formatMessage } from './format-message.ts';
import { dimensionScopeKinds } from './run-dimensions.ts';

export const scopeKinds = ['org', ...dimensionScopeKinds] as const;

/** `tag:<name>`: the budget counts by this tag. */
export const tagScopePattern = '^tag:[\\s\\S]{1,64}$';

export const tagScope = {
  type: 'string',
  pattern: tagScopePattern,
  [formatMessage]: 'Must be the name of a tag, such as tag:environment.',
  description: 'The tag of this name, such as `tag:environment`.',
} as const;
