import { type Static, Type } from 'typebox';
import { estimate, images, label, scopeFields, tokens } from '../ledger/scope.ts';
import { choice, closed, id, nullable, timestamp } from '../platform/http/routes/schemas.ts';

export const DecisionBody = closed({
  model: label,
  ...scopeFields,
  input_tokens: Type.Optional(tokens),
  images: Type.Optional(images),
  ...estimate,
});
export type DecisionBody = Static<typeof DecisionBody>;

/** What a decision on the edge does not ask. */
export const runOnlyChecks = ['policies', 'safety', 'plan', 'chain', 'credits'] as const;

export const Verdict = closed({
  decision: choice(['allow']),
  decision_id: id,
  expires_at: timestamp,
  held_usd: Type.String({ description: 'What is held until the decision is settled.' }),
  max_output_tokens: nullable(
    Type.Integer({
      description:
        'Pass this on to the model: with at most so many the real cost cannot exceed the hold. Null without a price.',
    }),
  ),
  limits: Type.Array(
    closed({
      id,
      kind: choice(['prepaid', 'quota', 'spend_cap', 'budget', 'customer']),
      unit: choice(['usd', 'tokens', 'requests']),
      remaining: Type.Unsafe<string | number>({ type: ['string', 'integer'] }),
      resets_at: nullable(Type.String({ format: 'date-time' })),
    }),
    { description: 'What remains of each limit that applies, with this decision held.' },
  ),
  not_checked: Type.Array(choice(runOnlyChecks), {
    description:
      'Gates of the org that apply to this request and were not asked. `POST /v1/runs` asks them all. With `degraded` every ' +
      'one that there may be.',
  }),
  degraded: Type.Optional(
    Type.Boolean({
      description: 'Given while the books could not be asked: no limit was checked. It is counted later.',
    }),
  ),
});
export type Verdict = Static<typeof Verdict>;
