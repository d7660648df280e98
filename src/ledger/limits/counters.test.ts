import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../test/harness.ts';
import { Random } from '../../../test/support/ledger-values.ts';
import { type Limit, units, WILDCARD } from '../../kernel/limits.ts';
import { formatUsd } from '../../kernel/money.ts';
import { calendarWindow, fixedWindow, periods, type Window } from '../../kernel/windows.ts';
import { readSettled } from './counters.ts';

const seed = 20261115;
const random = new Random(seed);
const dayMs = 86_400_000;

interface Entry {
  readonly charged_at: Date;
  readonly usd_nanos: bigint;
  readonly tokens: bigint;
  readonly requests: bigint;
  readonly workflow: string | null;
  readonly customer_id: string | null;
}

const world = useWorld();
const org = useOrg(world);
let entries: Entry[];
beforeAll(async () => {
  const nowMs = world.clock.now().getTime();
  // Some near midnight in UTC, where parts of windows meet.
  const instants = Array.from({ length: 600 }, () => {
    const anyMs = nowMs - random.int(600 * 24 * 60) * 60_000;
    const midnightMs = Math.floor(anyMs / dayMs) * dayMs;
    return random.chance(50) ? anyMs : midnightMs + (random.int(121) - 60) * 60_000;
  });
  const runs = instants.map((atMs) => ({
    model: 'm',
    started_at: new Date(Math.min(atMs, nowMs)).toISOString(),
    cost_usd: formatUsd(BigInt(random.int(2_000_000_000))),
    input_tokens: random.int(1_000),
    output_tokens: random.int(100),
    workflow: `w${random.int(3)}`,
    ...(random.chance(60) && { customer_id: `c${random.int(4)}` }),
  }));
  const { status, json } = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs },
  });
  expect(status).toBe(201);
  for (const { id } of json.runs.slice(0, 20)) {
    await world.request('POST', `/v1/runs/${id}/adjustments`, {
      key: org.ownerKey,
      body: { amount_usd: `-0.00000${1 + random.int(9_998)}`, reason: 'r' },
    });
  }
  entries = await world.db.query<Entry>(
    'SELECT charged_at, usd_nanos, tokens, requests, workflow, customer_id FROM ledger_entries WHERE org_id = $1',
    [org.id],
  );
  expect(entries).toHaveLength(620);
});

const limit: Limit = {
  id: 'bud_none',
  kind: 'budget',
  unit: 'usd',
  match: {},
  span: { kind: 'calendar', period: 'month', timezone: null },
  capacity: 1n,
  burst: 0n,
  enforcement: 'block',
  thresholds: [],
  createdAtMs: 0,
  expiresAtMs: null,
};

const zones = Intl.supportedValuesOf('timeZone');
const odd = [
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'America/St_Johns',
  'Africa/Cairo',
  'UTC',
];

function anyWindow(): [string, Window] {
  const nowMs = world.clock.now().getTime();
  const atMs = random.chance(30) ? nowMs : nowMs - random.int(600 * 24) * 3_600_000;
  if (random.chance(15)) {
    const seconds = random.of([60, 3_600, 5_400, dayMs / 1_000, (30 * dayMs) / 1_000]);
    return [`${seconds} seconds`, fixedWindow(seconds, atMs)];
  }
  const [period, zone] = [random.of(periods), random.of(random.chance(50) ? odd : zones)];
  return [`${period} in ${zone}`, calendarWindow(period, zone, atMs)];
}

test('a new counter of any window and time zone starts with the exact sum of the ledger', async () => {
  const faults: string[] = [];
  let counted = 0;
  for (let round = 0; round < 400; round += 1) {
    const [name, window] = anyWindow();
    const unit = random.of(units);
    const [workflow, customer] = [`w${random.int(3)}`, `c${random.int(4)}`];
    const match = random.of([
      {},
      { workflow },
      { customer_id: WILDCARD },
      { workflow, customer_id: customer },
    ]);
    const inside = entries.filter(
      (entry) =>
        window.startMs <= entry.charged_at.getTime() &&
        entry.charged_at.getTime() < window.endMs &&
        (!('workflow' in match) || entry.workflow === workflow) &&
        (!('customer_id' in match) || entry.customer_id === customer),
    );
    const column = { usd: 'usd_nanos', tokens: 'tokens', requests: 'requests' } as const;
    const expected = inside.reduce((sum, entry) => sum + entry[column[unit]], 0n);
    const scope = { key_id: 'key', workflow, customer_id: customer };
    const { settled } = await readSettled(
      world.db,
      org.id,
      { limit: { ...limit, unit, match }, window, key: 'none' },
      scope as Parameters<typeof readSettled>[3],
    );
    counted += expected > 0n ? 1 : 0;
    if (settled !== expected) {
      faults.push(`${unit} of ${name} ${JSON.stringify(window)}: ${settled}, not ${expected}`);
    }
  }
  expect(faults, `seed ${seed}`).toEqual([]);
  expect(counted).toBeGreaterThan(200);
});
