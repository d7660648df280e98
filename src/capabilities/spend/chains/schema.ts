import { type Static, Type } from 'typebox';
import { countMax } from '../../../ledger/limits/limit-fields.ts';
import { closed, nullable, partial, usd } from '../../../platform/http/routes/schemas.ts';

const depthMax = 1_000_000;

const limits = {
  max_cost_usd: nullable(
    Type.String({ ...usd, description: 'Maximum cost of all runs of a chain. Null: no limit.' }),
  ),
  max_depth: nullable(
    Type.Integer({
      minimum: 1,
      maximum: depthMax,
      description: 'Maximum depth of a run in its chain; the first run has depth 1. Null: no limit.',
    }),
  ),
  max_tokens: nullable(
    Type.Integer({
      minimum: 1,
      maximum: countMax,
      description: 'Maximum number of tokens of all runs of a chain. Null: no limit.',
    }),
  ),
};

export const ChainBudgetView = closed(limits);
export type ChainBudgetView = Static<typeof ChainBudgetView>;

export const PutChainBudget = partial(limits);
export type PutChainBudget = Static<typeof PutChainBudget>;
