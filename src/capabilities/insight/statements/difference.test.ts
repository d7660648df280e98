/** The causes of a difference add up to it, and each injected cause is found. */
import { describe, expect, test } from 'vitest';
import { type BilledLine, explain, type LineSums, noSums, type Recorded } from './difference.ts';
import { type LineTokens, noTokens } from './statement-line.ts';

const tokens = (input: number, output: number): LineTokens => ({
  ...noTokens,
  uncached_input: BigInt(input),
  output: BigInt(output),
});
const sums = (runs: number, usd: number, input: number, output: number): LineSums => ({
  runs: BigInt(runs),
  usd: BigInt(usd),
  usdByKind: noTokens,
  tokens: tokens(input, output),
});
/** Ten nanodollars per input token, forty per output token. */
const costs = (input: number, output: number): BilledLine[] => [
  { keyId: '', kind: 'uncached_input', tokens: noTokens, usdNanos: BigInt(input * 10) },
  { keyId: '', kind: 'output', tokens: noTokens, usdNanos: BigInt(output * 40) },
];
const used = (keyId: string, input: number, output: number): BilledLine => ({
  keyId,
  kind: '',
  tokens: tokens(input, output),
  usdNanos: 0n,
});
const recorded = (settled: LineSums, more: Partial<Recorded> = {}): Recorded => {
  const unsettled = more.unsettled ?? noSums;
  const local = {
    usdByKind: noTokens,
    runs: settled.runs + unsettled.runs,
    usd: settled.usd + unsettled.usd,
    tokens: tokens(
      Number(settled.tokens.uncached_input + unsettled.tokens.uncached_input),
      Number(settled.tokens.output + unsettled.tokens.output),
    ),
  };
  return { settled, unsettled, local, lateShift: noSums, corrections: [], ...more };
};
const options = { hasTokens: true, decimals: 9, gatewayKeyIds: undefined };
const shown = (causes: ReturnType<typeof explain>) =>
  causes.map(({ cause, usd, keyIds }) => `${cause} ${usd} ${keyIds.join()}`.trim());

describe('a row', () => {
  test('a row without a difference has no cause', () => {
    const billed = [...costs(1_000, 100), used('key_a', 1_000, 100)];
    expect(explain(billed, recorded(sums(10, 14_000, 1_000, 100)), options)).toEqual([]);
  });

  test('a row with equal tokens and other amounts differs in price', () => {
    const billed = [...costs(100_000, 0), used('key_a', 100_000, 0)];
    expect(shown(explain(billed, recorded(sums(10, 800_000, 100_000, 0)), options))).toEqual([
      'price 200000',
    ]);
  });

  test('a row with one rate that differs names the kind of tokens, and no more than rounding for the others', () => {
    const row = sums(10, 1_000_000 + 240_003, 100_000, 6_000);
    const usdByKind = { ...noTokens, uncached_input: 1_000_003n, output: 240_000n };
    const byKind = recorded({ ...row, usdByKind });
    const billed = [
      { ...costs(100_000, 0)[0], usdNanos: 1_500_000n } as BilledLine,
      costs(0, 6_000)[1] as BilledLine,
      used('key_a', 100_000, 6_000),
    ];
    expect(explain(billed, byKind, options)).toEqual([
      { cause: 'price', kind: 'uncached_input', usd: 499_997n, tokens: noTokens, keyIds: [] },
    ]);
  });

  test('a row with several rates that differ and missing calls names each, and they add up', () => {
    const row = sums(10, 900_000 + 300_000, 100_000, 6_000);
    const usdByKind = { ...noTokens, uncached_input: 900_000n, output: 300_000n };
    const billed = [...costs(130_000, 6_000), used('key_a', 130_000, 6_000)];
    const causes = explain(billed, recorded({ ...row, usdByKind }), options);
    expect(causes.map(({ cause, kind, usd }) => `${cause} ${kind} ${usd}`)).toEqual([
      'missing  300000',
      'price uncached_input 100000',
      'price output -60000',
    ]);
  });

  test('a row with rates that differ, some of which were corrected, names those that are left', () => {
    const posted = {
      ...noSums,
      runs: 1n,
      usd: 100_000n,
      usdByKind: { ...noTokens, uncached_input: 100_000n },
    };
    const row = sums(11, 900_000 + 300_000 + 100_000, 100_000, 6_000);
    const usdByKind = { ...noTokens, uncached_input: 1_000_000n, output: 300_000n };
    const corrections = [{ cause: 'price', kind: 'uncached_input', keyIds: [], sums: posted }] as const;
    const billed = [...costs(100_000, 6_000), used('key_a', 100_000, 6_000)];
    const causes = explain(billed, recorded({ ...row, usdByKind }, { corrections }), options);
    expect(causes.map(({ cause, kind, usd }) => `${cause} ${kind} ${usd}`)).toEqual(['price output -60000']);
  });

  test('a row with a correction of all rates differs by what was billed since', () => {
    const posted = { ...noSums, runs: 1n, usd: 600_000n };
    const usdByKind = { ...noTokens, uncached_input: 500_000n, output: 140_000n };
    const row = recorded(
      { ...sums(11, 500_000 + 140_000 + 600_000, 100_000, 6_000), usdByKind },
      { corrections: [{ cause: 'price', kind: '', keyIds: [], sums: posted }] },
    );
    const billed = [...costs(100_000, 6_000), { ...used('key_a', 100_000, 6_000) }];
    expect(explain(billed, row, options)).toEqual([]);
    const more = explain([...billed, { ...used('', 0, 0), kind: 'output', usdNanos: 60_000n }], row, options);
    expect(more.map(({ cause, kind, usd }) => `${cause} ${kind} ${usd}`)).toEqual(['price output 60000']);
  });

  test('a row whose rates were corrected and are billed as recorded after all takes each correction back', () => {
    const correctionOf = (kind: 'uncached_input' | 'output', usd: bigint) => ({
      cause: 'price' as const,
      kind,
      keyIds: [],
      sums: { ...noSums, runs: 1n, usd, usdByKind: { ...noTokens, [kind]: usd } },
    });
    const usdByKind = { ...noTokens, uncached_input: 1_500_000n, output: 940_000n };
    const row = recorded(
      { ...sums(12, 1_500_000 + 940_000, 100_000, 6_000), usdByKind },
      { corrections: [correctionOf('uncached_input', 500_000n), correctionOf('output', 700_000n)] },
    );
    const causes = explain([...costs(100_000, 6_000), used('key_a', 100_000, 6_000)], row, options);
    expect(causes.map(({ cause, kind, usd }) => `${cause} ${kind} ${usd}`)).toEqual([
      'price uncached_input -500000',
      'price output -700000',
    ]);
  });

  test('a row with less than a nanodollar per run was rounded', () => {
    const billed = [...costs(100_000, 0), used('key_a', 100_000, 0)];
    expect(shown(explain(billed, recorded(sums(10, 1_000_007, 100_000, 0)), options))).toEqual([
      'rounding -7',
    ]);
  });

  test('a row with tokens that no run has names the key that used them', () => {
    const billed = [...costs(1_500, 100), used('key_a', 1_000, 100), used('key_b', 500, 0)];
    expect(shown(explain(billed, recorded(sums(10, 14_000, 1_000, 100)), options))).toEqual([
      'missing 5000 key_b',
    ]);
  });

  test('a row without runs is missing as a whole', () => {
    const billed = [...costs(1_500, 100), used('key_a', 1_500, 100)];
    expect(shown(explain(billed, recorded(noSums), options))).toEqual(['missing 19000 key_a']);
  });

  test('a row that was recorded and not billed is unknown', () => {
    expect(shown(explain([], recorded(sums(1, 500, 10, 10)), options))).toEqual(['unknown -500']);
  });

  test('a row of another local day differs by time zone only', () => {
    const billed = [...costs(1_000, 100), used('key_a', 1_000, 100)];
    const local = sums(8, 11_000, 800, 75);
    expect(shown(explain(billed, recorded(sums(10, 14_000, 1_000, 100), { local }), options))).toEqual([
      'time_zone 3000',
    ]);
  });

  test('a row with runs that were charged on another day is late on both days', () => {
    const billed = [...costs(1_100, 100), used('key_a', 1_100, 100)];
    const lateShift = sums(1, 1_000, 100, 0);
    expect(shown(explain(billed, recorded(sums(10, 14_000, 1_000, 100), { lateShift }), options))).toEqual([
      'late 1000',
    ]);
    const other = recorded(sums(1, 1_000, 100, 0), { lateShift: sums(-1, -1_000, -100, 0) });
    expect(shown(explain([], other, options))).toEqual(['late -1000']);
  });

  test('a row with every cause at once is split exactly, given the keys of the gateway', () => {
    // Billed: 100,000 input tokens by runs, 5,000 by an unsettled call, 30,000 around Purser.
    const billed = [
      ...costs(135_000, 1_000),
      used('key_gateway', 105_000, 1_000),
      used('key_other', 30_000, 0),
    ];
    // The runs were priced at 9 instead of 10 nanodollars; 70,000 nanodollars were held for the unsettled call.
    const row = recorded(sums(50, 900_000 + 40_000, 100_000, 1_000), { unsettled: sums(1, 70_000, 0, 0) });
    const causes = explain(billed, row, { ...options, gatewayKeyIds: new Set(['key_gateway']) });
    expect(shown(causes)).toEqual(['missing 300000 key_other', 'unsettled -20000', 'price 100000']);
    const total = causes.reduce((sum, { usd }) => sum + usd, 0n);
    expect(total).toBe(1_350_000n + 40_000n - 940_000n - 70_000n);
  });

  test('a row that was reconciled has no cause, although its unsettled runs and other keys remain', () => {
    const billed = [
      ...costs(135_000, 1_000),
      used('key_gateway', 105_000, 1_000),
      used('key_other', 30_000, 0),
    ];
    const row = recorded(sums(53, 1_390_000 - 70_000, 135_000, 1_000), { unsettled: sums(1, 70_000, 0, 0) });
    expect(explain(billed, row, { ...options, gatewayKeyIds: new Set(['key_gateway']) })).toEqual([]);
  });

  test('a row whose late runs were corrected has no cause, although its tokens still differ', () => {
    const row = recorded(sums(2, 0, 100, 0), {
      lateShift: sums(-1, -1_000, -100, 0),
      corrections: [{ cause: 'late', kind: '', keyIds: [], sums: sums(1, -1_000, 0, 0) }],
    });
    expect(explain([], row, options)).toEqual([]);
  });

  test('a row that is billed higher after a correction of late runs differs by the new part only', () => {
    const billed = [...costs(10, 0), used('key_a', 10, 0)];
    const row = recorded(sums(2, 0, 100, 0), {
      lateShift: sums(-1, -1_000, -100, 0),
      corrections: [{ cause: 'late', kind: '', keyIds: [], sums: sums(1, -1_000, 0, 0) }],
    });
    expect(shown(explain(billed, row, options))).toEqual(['missing 100 key_a']);
  });

  test('a row that is billed higher after a correction of unsettled runs and other keys differs by the new part only', () => {
    const billed = [...costs(4_100, 0), used('key_gateway', 1_100, 0), used('key_other', 3_000, 0)];
    const row = recorded(sums(2, 10_000, 4_000, 0), {
      unsettled: sums(1, 30_000, 0, 0),
      corrections: [
        { cause: 'missing', kind: '', keyIds: ['key_other'], sums: sums(1, 30_000, 3_000, 0) },
        { cause: 'unsettled', kind: '', keyIds: [], sums: sums(1, -20_000, 1_000, 0) },
      ],
    });
    const causes = explain(billed, row, { ...options, gatewayKeyIds: new Set(['key_gateway']) });
    expect(shown(causes)).toEqual(['unsettled 1000']);
  });

  test('a row that is billed lower after a correction takes it back', () => {
    const row = recorded(sums(2, 14_000, 1_000, 100), {
      corrections: [{ cause: 'missing', kind: '', keyIds: ['key_a'], sums: sums(1, 14_000, 1_000, 100) }],
    });
    expect(shown(explain([], row, options))).toEqual(['missing -14000 key_a']);
  });

  test('a row of which a part of the calls with other keys was recorded misses the rest', () => {
    const billed = [...costs(135_000, 0), used('key_gateway', 105_000, 0), used('key_other', 30_000, 0)];
    const row = recorded(sums(50, 1_250_000, 125_000, 0));
    const causes = explain(billed, row, { ...options, gatewayKeyIds: new Set(['key_gateway']) });
    expect(shown(causes)).toEqual(['missing 100000 key_other']);
  });

  test('a row with negative tokens of another key is not explained by that key', () => {
    const billed = [...costs(900, 0), used('key_gateway', 1_000, 0), used('key_other', -100, 0)];
    const causes = explain(billed, recorded(sums(1, 8_000, 800, 0)), {
      ...options,
      gatewayKeyIds: new Set(['key_gateway']),
    });
    expect(shown(causes)).toEqual(['missing 1000 key_gateway']);
  });

  test('a row without token counts has an unknown cause', () => {
    const billed = costs(1_000, 100);
    const without = { ...options, hasTokens: false };
    expect(shown(explain(billed, recorded(sums(10, 10_000, 1, 1)), without))).toEqual(['unknown 4000']);
  });
});
