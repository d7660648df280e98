/**
 * A second ledger: what the providers of an org have billed, kept by a test on its own. A call whose caller crashed counts at its
 * held amount until its real cost arrives.
 */
export interface Call {
  readonly scope: { readonly workflow: string | null; readonly customer_id: string | null };
  readonly model: string;
  heldNanos: bigint;
  /** What the provider bills. */
  readonly trueNanos: bigint;
  readonly tokens: { readonly input: number; readonly output: number };
  expiresAtMs: number;
  decisionId: string | null;
  runId: string | null;
  state:
    | 'open' /** The hold expired: the held amount is posted. */
    | 'unsettled' /** Settled at the held amount, because the model has no price. */
    | 'unpriced'
    | 'settled';
  /** Posted so far. */
  postedNanos: bigint;
}

export class ProviderBills {
  readonly calls: Call[] = [];

  add(call: Call): Call {
    this.calls.push(call);
    return call;
  }

  in(...states: Call['state'][]): Call[] {
    return this.calls.filter(({ state }) => states.includes(state));
  }

  /** The holds of callers that have not reported in time. */
  expire(nowMs: number): void {
    for (const call of this.in('open')) {
      if (call.expiresAtMs <= nowMs) {
        call.state = 'unsettled';
        call.postedNanos = call.heldNanos;
      }
    }
  }

  total(matches: (call: Call) => boolean = () => true): bigint {
    return this.calls.filter(matches).reduce((sum, { postedNanos }) => sum + postedNanos, 0n);
  }
}
