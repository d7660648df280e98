import { type Static, Type } from 'typebox';
import { choice, closed, nullable } from '../../../platform/http/routes/schemas.ts';
import { region } from '../../access/orgs/index.ts';

const mode = choice(
  ['forward', 'strict'],
  'Treatment of requests that arrive in another region: `forward` sends them to the home region, `strict` ' +
    'rejects them.',
);

export const ResidencyView = closed({ home_region: nullable(Type.String()), mode });
export type ResidencyView = Static<typeof ResidencyView>;

export const PutResidency = closed({
  home_region: nullable(region),
  mode: Type.Optional(Type.Unsafe<'forward' | 'strict'>({ ...mode, default: 'forward' })),
});
export type PutResidency = Static<typeof PutResidency>;
