/** The pace to hold a call for: that of the fastest connection that it may be sent to. */
import type { Connection } from '../../capabilities/integration/connections/index.ts';
import type { PaceHistory } from '../../growing-holds/pace-history.ts';
import { documentedPace } from '../../kernel/documented-pace.ts';
import { fastestPace, type Pace } from '../../kernel/pace.ts';

export interface PacedCall {
  readonly orgId: string;
  readonly model: string;
  readonly tier: string;
  readonly candidates: readonly Connection[];
}

/** Returns the pace that no attempt of a call exceeds, whichever of the connections it is sent to. */
export function paceOf(history: PaceHistory, { candidates, ...call }: PacedCall): Pace {
  const [first, ...others] = candidates.map((one) =>
    history.paceOf({ ...call, connectionId: one.id }, documentedPace(one.calledAt.provider, call.model)),
  );
  return fastestPace(first as Pace, others);
}
