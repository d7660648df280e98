import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AuditEntry,
  type ChainPosition,
  chained,
  chainStart,
  type DatedDraft,
  redactedDigest,
  redactionDigest,
} from './chain.ts';
import { redactAction } from './chain-check.ts';
import { checkExport } from './export-check.ts';
import { checkpointLine, ndjsonLine } from './export-lines.ts';
import { newPrivateKey, publicPemOf, type TrustedKey, tokenSigner } from './signing.ts';

const key = newKey();
let entries: AuditEntry[];
beforeAll(() => {
  entries = chainOf(Array.from({ length: 6 }, (_, n) => draftOf(n + 1)));
});

function newKey() {
  const privatePem = newPrivateKey();
  const trusted: TrustedKey = { pem: publicPemOf(privatePem), retiredAt: null };
  return { privatePem, trusted };
}

function draftOf(n: number): DatedDraft {
  return {
    id: `aud_${n}`,
    at: '2026-11-15T12:00:00.000Z',
    actorKind: 'key',
    actorId: 'key_1',
    action: 'budgets.create',
    outcome: 'success',
    code: null,
    targetKind: 'budget',
    targetId: `bud_${n}`,
    before: null,
    after: { customer_id: `customer ${n}` },
    detail: null,
    address: null,
    traceId: null,
  };
}

function chainOf(drafts: readonly DatedDraft[]): AuditEntry[] {
  let position: ChainPosition = chainStart;
  return drafts.map((draft) => {
    const entry = chained('org_1', position, draft);
    position = entry;
    return entry;
  });
}

const signed = ({ seq, hash }: ChainPosition, by = key, org_id = 'org_1') => {
  const said = { org_id, seq, hash, at: '2026-11-15T12:00:00.000Z' };
  return { ...said, token: tokenSigner(by.privatePem)({ kind: 'checkpoint', ...said }) };
};
const checkpointLineOf = (position: ChainPosition | undefined, ...more: [typeof key?, string?]) =>
  checkpointLine(signed(position ?? chainStart, ...more));

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function check(lines: readonly string[], kept: readonly string[] = []) {
  const report = await checkExport(each(lines), { publicKeys: [key.trusted], kept });
  return { ...report, found: report.findings.map(({ kind, seq }) => `${kind} ${seq}`) };
}

test('a complete export with a final checkpoint has no remarks', async () => {
  const lines = [...entries.map(ndjsonLine), checkpointLineOf(entries.at(-1))];
  expect(await check(lines)).toMatchObject({
    entries: 6,
    firstSeq: 1,
    lastSeq: 6,
    checkpoints: 1,
    isSealed: true,
    found: [],
    remarks: [],
  });
});

test('verifies an export of a few days', async () => {
  const some = entries.slice(2, 5);
  expect(await check([...some.map(ndjsonLine), checkpointLineOf(some.at(-1))])).toMatchObject({
    firstSeq: 3,
    lastSeq: 5,
    found: [],
  });
});

describe('detects', () => {
  const lines = () => entries.map(ndjsonLine);
  test.each<[string, (lines: string[]) => string[], string[]]>([
    ['a change', (all) => all.map((line) => line.replace('"bud_3"', '"bud_9"')), ['entry_changed 3']],
    ['a deletion', (all) => all.filter((_, n) => n !== 2), ['entry_missing 3']],
    [
      'lines in another order',
      (all) => [0, 2, 1, 3, 4, 5].map((n) => all[n] ?? ''),
      ['entry_missing 2', 'entry_moved 2'],
    ],
    [
      'a rewritten chain',
      () => chainOf(entries.map((entry) => ({ ...entry, actorId: 'key_2' }))).map(ndjsonLine),
      ['chain_rewritten 1'],
    ],
    ['a tail that was cut off', (all) => all.slice(0, 4), ['checkpoint_invalid 6']],
  ])('%s', async (_, change, found) => {
    expect((await check([...change(lines()), checkpointLineOf(entries.at(-1))])).found).toEqual(found);
  });

  test('a checkpoint of another key, or of another log', async () => {
    for (const checkpoint of [
      checkpointLineOf(entries.at(-1), newKey()),
      checkpointLineOf(entries.at(-1), key, 'org_2'),
    ]) {
      expect((await check([...lines(), checkpoint])).found).toEqual(['checkpoint_invalid 6']);
    }
  });

  test('the check of an export detects an edited checkpoint', async () => {
    const checkpoint = checkpointLineOf(entries.at(-1)).replace('"seq":6', '"seq":5');
    expect((await check([...lines(), checkpoint])).found).toEqual(['checkpoint_invalid 5']);
  });

  test('a chain that differs from a kept checkpoint', async () => {
    const rewritten = chainOf(entries.map((entry) => ({ ...entry, actorId: 'key_2' })));
    const { token } = signed(entries[3] ?? chainStart);
    expect(
      (await check([...rewritten.map(ndjsonLine), checkpointLineOf(rewritten.at(-1))], [token])).found,
    ).toEqual(['chain_rewritten 1']);
  });
});

describe('rejects a kept token', () => {
  const withKept = (token: string) => check(entries.map(ndjsonLine), [token]);

  test('rejects a kept token that is not a checkpoint', async () => {
    const { org_id, seq, hash, at } = signed(entries[3] ?? chainStart);
    const token = tokenSigner(key.privatePem)({ kind: 'anchor', org_id, seq, hash, at });
    await expect(withKept(token)).rejects.toThrow('a given checkpoint is invalid');
  });

  test('rejects a kept token of the log of another organization', async () => {
    const { token } = signed(entries[3] ?? chainStart, key, 'org_2');
    await expect(withKept(token)).rejects.toThrow('log of another organization');
  });
});

test('accepts signatures from before the key was replaced, and rejects later ones', async () => {
  const newer = newKey();
  const lines = [...entries.map(ndjsonLine), checkpointLineOf(entries.at(-1), newer)];
  const { token } = signed(entries[3] ?? chainStart);
  const foundIf = async (retiredAt: string) => {
    const publicKeys = [newer.trusted, { ...key.trusted, retiredAt: new Date(retiredAt) }];
    return (await checkExport(each(lines), { publicKeys, kept: [token] })).checkpoints;
  };
  expect(await foundIf('2026-11-15T12:00:00Z')).toBe(2);
  // Five minutes are tolerated, because the clocks of two processes may differ.
  expect(await foundIf('2026-11-15T11:55:00Z')).toBe(2);
  await expect(foundIf('2026-11-15T11:54:59Z')).rejects.toThrow('a given checkpoint is invalid');
});

describe('a key that was stolen, and replaced at noon', () => {
  const [noon, grace, later] = ['12:00:00', '12:05:00', '12:05:01'].map((time) => `2026-11-15T${time}.000Z`);
  const newer = newKey();
  const publicKeys = [newer.trusted, { ...key.trusted, retiredAt: new Date(noon ?? '') }];
  const chainAt = (...dates: (string | undefined)[]) =>
    chainOf(dates.map((at, n) => ({ ...draftOf(n + 1), at: at ?? '' })));
  const found = async (lines: readonly string[], kept: readonly string[] = [], keys = publicKeys) => {
    const { findings } = await checkExport(each(lines), { publicKeys: keys, kept });
    return findings.map(({ kind, seq }) => `${kind} ${seq}`);
  };
  // All tokens of these tests are dated noon.
  const foundAtEndOf = (chain: readonly AuditEntry[]) =>
    found([...chain.map(ndjsonLine), checkpointLineOf(chain.at(-1))]);

  test('a key that was stolen and replaced is accepted for entries of its time', async () => {
    expect(await foundAtEndOf(chainAt(noon, noon, grace))).toEqual([]);
  });

  test("a key that was stolen and replaced is rejected for later entries, whatever the token's date", async () => {
    expect(await foundAtEndOf(chainAt(noon, noon, later))).toEqual(['checkpoint_invalid 3']);
    expect(await foundAtEndOf(chainAt(noon, later, noon))).toEqual(['checkpoint_invalid 3']);
    expect(await foundAtEndOf(chainAt(noon, 'no time', noon))).toEqual(['checkpoint_invalid 3']);
    const chain = chainAt(noon, noon, later);
    const lines = [...chain.map(ndjsonLine), checkpointLineOf(chain.at(-1), newer)];
    const keptOf = (seq: number) => [signed(chain[seq - 1] ?? chainStart).token];
    expect(await found(lines, keptOf(2))).toEqual([]);
    expect(await found(lines, keptOf(3))).toEqual(['checkpoint_invalid 3']);
  });

  test('a key that was stolen and replaced cannot sign a later erasure', async () => {
    const erasedFrom = (...[at, ...dates]: (string | undefined)[]) => {
      const chain = chainAt(at, ...dates.slice(0, -1));
      const first = {
        ...(chain[0] as AuditEntry),
        after: { forged: true },
        salt: null,
        redactedBy: dates.length + 1,
      };
      const redacted = [[1, redactedDigest(first)]] as const;
      const said = { org_id: 'org_1', seq: 1, hash: redactionDigest(redacted), at: noon ?? '' };
      const token = tokenSigner(key.privatePem)({ kind: 'redaction', ...said });
      const draft = {
        ...draftOf(9),
        at: dates.at(-1) ?? '',
        action: redactAction,
        after: { redacted, token },
      };
      const erasing = chained('org_1', chain.at(-1) ?? chainStart, draft);
      return found([first, ...chain.slice(1), erasing].map(ndjsonLine));
    };
    expect(await erasedFrom(noon, grace)).toEqual([]);
    expect(await erasedFrom(noon, later)).toEqual(['entry_changed 1']);
    expect(await erasedFrom(later, noon)).toEqual(['entry_changed 1']);
    expect(await erasedFrom(noon, later, noon)).toEqual(['entry_changed 1']);
  });

  test('a key that was stolen and replaced is not trusted for longer if it is given twice', async () => {
    const chain = chainAt(noon, noon, later);
    const lines = [...chain.map(ndjsonLine), checkpointLineOf(chain.at(-1))];
    const evening = { ...key.trusted, retiredAt: new Date('2026-11-15T20:00:00Z') };
    for (const again of [key.trusted, evening]) {
      for (const keys of [
        [again, ...publicKeys],
        [...publicKeys, again],
      ]) {
        expect(await found(lines, [], keys)).toEqual(['checkpoint_invalid 3']);
      }
    }
  });
});

test('lists the checks that are not possible with the file alone', async () => {
  const { token } = signed({ seq: 99, hash: '0'.repeat(64) });
  const { found, remarks } = await check(entries.map(ndjsonLine), [token]);
  expect([found, remarks.length]).toEqual([[], 2]);
  const unsigned = await checkExport(
    each([...entries.map(ndjsonLine), checkpointLineOf(entries.at(-1))]),
    {},
  );
  expect(unsigned.remarks).toEqual([expect.stringMatching(/public key/)]);
});

test('rejects a file that ends within a line', async () => {
  const lines = entries.map(ndjsonLine);
  await expect(check([...lines.slice(0, 2), (lines[2] ?? '').slice(0, 50)])).rejects.toThrow('line 3');
});

describe('a redacted entry', () => {
  const redacted = (entry: AuditEntry): AuditEntry => ({
    ...entry,
    after: { customer_id: 'erased' },
    salt: null,
    redactedBy: 7,
  });
  const withErasure = (listed: readonly (readonly [number, string])[], by = key) => {
    const said = {
      kind: 'redaction',
      org_id: 'org_1',
      seq: 2,
      hash: redactionDigest(listed),
      at: '',
    } as const;
    const after = { redacted: listed, token: tokenSigner(by.privatePem)(said) };
    const drafts = entries.map((_, n) => draftOf(n + 1));
    return chainAgain([...drafts, { ...draftOf(7), action: redactAction, after }]);
  };
  /** Reuses the existing entries with their salts, and appends one more. */
  const chainAgain = (drafts: readonly DatedDraft[]) => {
    const last = entries.at(-1) ?? chainStart;
    const all = [...entries, chained('org_1', last, drafts[6] as DatedDraft)];
    return all.map((entry) => (entry.seq === 2 ? redacted(entry) : entry));
  };
  const digest = () => redactedDigest(redacted(entries[1] as AuditEntry));

  test('a redacted entry is valid if the erasure lists its digest', async () => {
    expect((await check(withErasure([[2, digest()]]).map(ndjsonLine))).found).toEqual([]);
  });

  test('a redacted entry is invalid if the erasure lists another digest, or not this entry', async () => {
    for (const listed of [[[2, '0'.repeat(64)]], [[3, digest()]], []] as [number, string][][]) {
      expect((await check(withErasure(listed).map(ndjsonLine))).found).toEqual(['entry_changed 2']);
    }
  });

  test('a redacted entry is invalid if the list is signed with another key', async () => {
    const forged = withErasure([[2, digest()]], newKey());
    expect((await check(forged.map(ndjsonLine))).found).toEqual(['entry_changed 2']);
  });

  test('a redacted entry cannot be distinguished from a changed entry without the erasure in the file', async () => {
    const lines = withErasure([[2, digest()]])
      .slice(0, 5)
      .map(ndjsonLine);
    expect((await check(lines)).found).toEqual(['entry_changed 2']);
  });

  test('a redacted entry must be marked: a missing field is not read as null', async () => {
    for (const name of ['salt', 'commitment', 'redacted_by']) {
      const lines = entries.map((entry) => {
        const { [name]: _, ...rest } = JSON.parse(ndjsonLine(entry));
        return JSON.stringify({ ...rest, after: {} });
      });
      await expect(check(lines)).rejects.toThrow('line 1');
    }
    const old = { salt: null, commitment: null, redactedBy: 99, detail: { forged: true } };
    const forged = entries.map((entry) => ndjsonLine(entry.seq === 3 ? { ...entry, ...old } : entry));
    expect((await check(forged)).found).toContain('entry_changed 3');
  });
});
