import { type Static, Type } from 'typebox';
import { countMax } from '../../../ledger/limits/limit-fields.ts';
import { closed, nullable, partial, usd } from '../../../platform/http/routes/schemas.ts';

const depthMax = 1_000_000;

const limits = {
  max_cost_usd: nullable(
    Type.String({ ...usd, description: 'What all runs of one chain may cost. Null: no limit.' }),
  ),
  max_depth: nullable(
    Type.Integer({
      minimum: 1,
      maximum: depthMax,
      description: 'How many runs may follow from one another; 1 is the first. Null: no limit.',
    }),
  ),
  max_tokens: nullable(
    Type.Integer({
      minimum: 1,
      maximum: countMax,
      description: 'How many tokens all runs of one chain may take. Null: no limit.',
    }),
  ),
};

export const ChainBudgetView = closed(limits);
export type ChainBudgetView = Static<typeof ChainBudgetView>;

export const PutChainBudget = partial(limits);
export type PutChainBudget = Static<typeof PutChainBudget>;
