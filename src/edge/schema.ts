import { type Static, Type } from 'typebox';
import { limitUnits } from '../kernel/limits.ts';
import { estimate, images, label, scopeFields, tags, tokens, tokensMax } from '../ledger/scope.ts';
import { serviceFields } from '../ledger/service-fields.ts';
import { choice, closed, id, nullable, timestamp } from '../platform/http/routes/schemas.ts';

export const DecisionBody = closed({
  model: label,
  ...scopeFields,
  tags: Type.Optional(tags),
  input_tokens: Type.Optional(tokens),
  images: Type.Optional(images),
  ...serviceFields,
  ...estimate,
  fit: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'If true, holds as many output tokens as all limits allow, at most `max_output_tokens` and at least ' +
        '`min_output_tokens`, in one atomic step. The answer has the number in `max_output_tokens`: pass it to the model. ' +
        'Requires `input_tokens` and a model with a price. `max_output_tokens` defaults to the maximum of the model, if known.',
    }),
  ),
  min_output_tokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: tokensMax,
      description:
        'The least number of output tokens that is useful. If it does not fit, the decision is denied. Only with `fit`; default 1.',
    }),
  ),
});
export type DecisionBody = Static<typeof DecisionBody>;

/** Checks that the edge does not perform. */
export const runOnlyChecks = ['policies', 'safety', 'plan', 'chain', 'credits'] as const;

export const Verdict = closed({
  decision: choice(['allow']),
  decision_id: id,
  expires_at: timestamp,
  held_usd: Type.String({ description: 'Amount held until the decision is settled.' }),
  max_output_tokens: nullable(
    Type.Integer({
      description:
        'Pass this limit to the model: with at most this many output tokens, the actual cost cannot exceed the hold. With `fit` it is the number that fits. Without a price it is the requested `max_output_tokens`, or null.',
    }),
  ),
  limits: Type.Array(
    closed({
      id,
      kind: choice(['rate', 'prepaid', 'quota', 'spend_cap', 'budget', 'customer']),
      unit: choice(limitUnits),
      remaining: Type.Unsafe<string | number>({ type: ['string', 'integer'] }),
      resets_at: nullable(Type.String({ format: 'date-time' })),
    }),
    { description: 'Remaining amount of each applicable limit after this hold.' },
  ),
  not_checked: Type.Array(choice(runOnlyChecks), {
    description:
      'Checks of the org that apply to this request and were not performed. If the list is not empty and your caller needs ' +
      'these checks, call `POST /v1/runs` with `status` `running` instead, which performs all of them and takes the same hold, ' +
      'then `POST /v1/runs/{run_id}/complete`. A `degraded` decision lists all possible checks.',
  }),
  degraded: Type.Optional(
    Type.Boolean({
      description:
        'The ledger was unavailable and no limit was checked. The decision is added to the ledger later.',
    }),
  ),
});
export type Verdict = Static<typeof Verdict>;
