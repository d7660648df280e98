/** What a decision and a run say alike: what they are about, and what they may cost. */
import { Type } from 'typebox';
import type { Scope } from '../kernel/limits.ts';
import { usd } from '../platform/http/routes/schemas.ts';
import { holdSecondsMax } from './holds/hold-request.ts';

/** What a limit or a report can be about: short enough to be indexed. */
export const label = Type.String({ minLength: 1, maxLength: 200 });
export const tokens = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000 });
export const images = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description:
    'How many are made, for models that charge by the image. Counts for the cost, and is not kept: say it again when you complete a run.',
});

/** Not a `Type.Record`: that holds to nothing the values of names with a line break in them, and no name to its length. */
export const tags = Type.Unsafe<Record<string, string>>({
  type: 'object',
  propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: 200 },
  maxProperties: 20,
  description: 'Up to 20 names and values of your own.',
});
export const metadata = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 });

/** A condition on a tag, in a query string. */
export const tagCondition = Type.String({
  minLength: 3,
  maxLength: 300,
  pattern: '^[^=]+=',
  description: 'As `name=value`.',
});

/** As the database compares it with the tags of a row. */
export function tagsWith(condition: string): string {
  const separator = condition.indexOf('=');
  return JSON.stringify({ [condition.slice(0, separator)]: condition.slice(separator + 1) });
}

export const scopeFields = {
  provider: Type.Optional(label),
  action: Type.Optional(label),
  workflow: Type.Optional(label),
  deployment: Type.Optional(label),
  department: Type.Optional(label),
  team: Type.Optional(label),
  customer_id: Type.Optional(label),
  chain_id: Type.Optional(label),
};

export const defaultHoldSeconds = 900;

export const estimate = {
  estimated_cost_usd: Type.Optional(usd),
  max_output_tokens: Type.Optional(tokens),
  expires_in_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: holdSecondsMax,
      default: defaultHoldSeconds,
      description: 'How long the amount is held if nobody settles it; at most a day.',
    }),
  ),
};

/** Scopes that decisions have in common: a hold of each keeps it, and most are like others shortly before. */
const shared = new Map<string, Scope>();
const sharedMax = 10_000;

/** The same, as one object for all that are equal. Chains are too many to be worth it. */
export function sharedScope(scope: Scope): Scope {
  if (scope.chain_id !== null) {
    return scope;
  }
  // No label is empty or holds NUL.
  const name =
    `${scope.key_id}\0${scope.model ?? ''}\0${scope.provider ?? ''}\0${scope.action ?? ''}\0${scope.workflow ?? ''}\0` +
    `${scope.deployment ?? ''}\0${scope.department ?? ''}\0${scope.team ?? ''}\0${scope.customer_id ?? ''}`;
  const there = shared.get(name);
  if (there !== undefined) {
    return there;
  }
  if (shared.size >= sharedMax) {
    shared.clear();
  }
  shared.set(name, scope);
  return scope;
}

type Said = { readonly [Field in keyof Omit<Scope, 'key_id' | 'chain_id'>]?: string | null };

export function scopeOf(said: Said, keyId: string, chainId: string | null): Scope {
  return {
    key_id: keyId,
    model: said.model ?? null,
    provider: said.provider ?? null,
    action: said.action ?? null,
    workflow: said.workflow ?? null,
    deployment: said.deployment ?? null,
    department: said.department ?? null,
    team: said.team ?? null,
    customer_id: said.customer_id ?? null,
    chain_id: chainId,
  };
}
