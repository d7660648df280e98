/** Limits, scopes, amounts and holds for ledger tests, with defaults for everything that a test does not set. */
import { type Amounts, type Limit, type OrgLimits, orgLimits, type Scope } from '../../src/kernel/limits.ts';
import { parseSignedUsd } from '../../src/kernel/money.ts';
import type { Hold } from '../../src/ledger/holds/hold.ts';

export function usd(text: string): bigint {
  const nanos = parseSignedUsd(text);
  if (nanos === undefined) {
    throw new Error(`${text} is not an amount`);
  }
  return nanos;
}

const defaultScope: Scope = {
  key_id: 'key_1',
  model: 'm',
  provider: null,
  action: null,
  workflow: null,
  deployment: null,
  department: null,
  team: null,
  customer_id: null,
  chain_id: null,
  member_id: null,
  project: null,
  tags: null,
};

export function scopeOf(fields: Partial<Scope> = {}): Scope {
  return { ...defaultScope, ...fields };
}

export function amountsOf(dollars: string, tokens = 0n, requests = 1n): Amounts {
  return { usd: usd(dollars), tokens, requests };
}

/** Returns a limit; by default a daily limit in US dollars. */
export function limitOf(fields: Partial<Limit> & Pick<Limit, 'id' | 'kind' | 'capacity'>): Limit {
  return {
    unit: 'usd',
    match: {},
    span: { kind: 'calendar', period: 'day', timezone: null },
    burst: 0n,
    enforcement: 'block',
    thresholds: [],
    createdAtMs: 0,
    expiresAtMs: null,
    ...fields,
  };
}

export function limitsOf(all: readonly Limit[], timezone = 'UTC'): OrgLimits {
  return orgLimits({ orgId: 'org_1', version: 1n, timezone, readRpm: null, all });
}

export function holdOf(id: string, fields: Partial<Hold> = {}): Hold {
  return {
    id,
    orgId: 'org_1',
    runId: null,
    surface: 'edge',
    scope: scopeOf(),
    amounts: amountsOf('1.5', 20n),
    admittedAtMs: 1_000,
    expiresAtMs: 901_000,
    shares: [{ key: 'cap_1@0', unit: 'usd' }],
    packs: [],
    priceVersion: null,
    idempotency: null,
    ...fields,
  };
}

/** Seeded random generator (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** Returns an integer from 0 to `below`, exclusive. */
  int(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  chance(percent: number): boolean {
    return this.int(100) < percent;
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.int(values.length)] as Value;
  }

  /** Returns a random value according to the weights. */
  weighted<Value>(choices: readonly (readonly [weight: number, value: Value])[]): Value {
    let at = this.int(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      at -= weight;
      if (at < 0) {
        return value;
      }
    }
    throw new Error('no choices');
  }
}
