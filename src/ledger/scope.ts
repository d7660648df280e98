/** Request fields that decisions and runs share: their scope and their estimated cost. */
import { Type } from 'typebox';
import { formatMessage } from '../contract/format-message.ts';
import {
  forEachName,
  labelDimensions,
  type ScopeDimension,
  scopeDimensions,
} from '../contract/run-dimensions.ts';
import type { Scope, Tags } from '../kernel/limits.ts';
import { SharedValues } from '../platform/cache/shared-values.ts';
import { usd } from '../platform/http/routes/schemas.ts';
import { holdSecondsMax } from './holds/hold-request.ts';

/** A scope value. Short enough to be indexed. */
export const label = Type.String({ minLength: 1, maxLength: 200 });
export const tokensMax = 1_000_000_000_000;
export const tokens = Type.Integer({ minimum: 0, maximum: tokensMax });
export const images = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description:
    'Number of generated images, for models that charge per image. Used for the cost and not stored: send it again when you complete the run.',
});

export const tagsMax = 20;

/** Not a `Type.Record`, which skips values whose name contains a line break, and cannot limit the length of names. */
export const tags = Type.Unsafe<Record<string, string>>({
  type: 'object',
  propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: 200 },
  maxProperties: tagsMax,
  description: 'Up to 20 custom name-value pairs.',
});
export const metadata = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 });

/** A tag filter in a query string. */
export const tagCondition = Type.String({
  minLength: 3,
  maxLength: 300,
  pattern: '^[^=]+=',
  [formatMessage]: 'Must be the name and the value of a tag, such as env=prod.',
  description: 'Format: `name=value`.',
});

/** Returns a tag condition as JSON, for comparison with the tags of a row. */
export function tagsWith(condition: string): string {
  const separator = condition.indexOf('=');
  return JSON.stringify({ [condition.slice(0, separator)]: condition.slice(separator + 1) });
}

export const scopeFields = forEachName(labelDimensions, Type.Optional(label));

export const defaultHoldSeconds = 900;

export const estimate = {
  estimated_cost_usd: Type.Optional(usd),
  max_output_tokens: Type.Optional(tokens),
  expires_in_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: holdSecondsMax,
      default: defaultHoldSeconds,
      description: 'Seconds until the hold expires if it is not settled. At most one day.',
    }),
  ),
};

/** Shared scopes. Every hold references its scope, and most scopes equal a recent one. */
const sharedScopes = new SharedValues<Scope>(10_000);
const sharedFields = scopeDimensions.filter((name) => name !== 'chain_id');

/** Returns one object for equal scopes. Scopes with a chain or with tags are too numerous to share. */
export function sharedScope(scope: Scope): Scope {
  if (scope.chain_id !== null || scope.tags !== null) {
    return scope;
  }
  let name = '';
  for (const field of sharedFields) {
    // The separator is safe: labels are not empty and do not contain NUL.
    name += `${scope[field] ?? ''}\0`;
  }
  return sharedScopes.shared(name, scope);
}

type ScopeInput = { readonly [Field in Exclude<ScopeDimension, 'key_id' | 'chain_id'>]?: string | null } & {
  readonly tags?: Tags | null;
};

/** Returns the scope of a request. `defaults` apply to fields that the request leaves out. Tags are merged by name. */
export function scopeOf(
  input: ScopeInput,
  keyId: string,
  chainId: string | null,
  defaults: ScopeInput = noDefaults,
): Scope {
  const tags =
    input.tags && defaults.tags ? { ...defaults.tags, ...input.tags } : (input.tags ?? defaults.tags);
  return {
    key_id: keyId,
    model: input.model ?? defaults.model ?? null,
    provider: input.provider ?? defaults.provider ?? null,
    action: input.action ?? defaults.action ?? null,
    workflow: input.workflow ?? defaults.workflow ?? null,
    deployment: input.deployment ?? defaults.deployment ?? null,
    department: input.department ?? defaults.department ?? null,
    team: input.team ?? defaults.team ?? null,
    customer_id: input.customer_id ?? defaults.customer_id ?? null,
    chain_id: chainId,
    member_id: input.member_id ?? defaults.member_id ?? null,
    project: input.project ?? defaults.project ?? null,
    tags: tags == null || Object.keys(tags).length === 0 ? null : tags,
  };
}

const noDefaults: ScopeInput = {};
