import { describe, expect, test } from 'vitest';
import { cefFaults, parseCef } from '../../../../test/support/cef-rules.ts';
import { ocsfFaults } from '../../../../test/support/ocsf-rules.ts';
import { cefLine } from './cef.ts';
import { type AuditEntry, chained, chainStart, type DatedDraft } from './chain.ts';
import { checkpointLine, ndjsonLine, parseExportLine } from './export-lines.ts';
import { ocsfEvent, ocsfLine } from './ocsf.ts';

const plain: DatedDraft = {
  id: 'aud_01hzy4t0000000000000000000',
  at: '2026-11-15T12:00:00.123Z',
  actorKind: 'key',
  actorId: 'key_1',
  action: 'budgets.change',
  outcome: 'success',
  code: null,
  targetKind: 'budget',
  targetId: 'bud_1',
  before: { limit_usd: '1' },
  after: { limit_usd: '2' },
  detail: null,
  address: '203.0.113.7',
  traceId: 'f'.repeat(32),
};
const entryOf = (draft: Partial<DatedDraft>): AuditEntry =>
  chained('org_1', chainStart, { ...plain, ...draft });

const drafts: [string, Partial<DatedDraft>][] = [
  ['a change', {}],
  ['a creation', { before: null }],
  ['a deletion', { action: 'budgets.delete', after: { deleted_at: '2026-11-15T12:00:00.123Z' } }],
  ['a change of nothing', { before: null, after: null }],
  ['an IPv6 address', { address: '2001:db8::1' }],
  ['no address', { address: null }],
  ['an address that is none', { address: 'unix' }],
  ['a refusal', { outcome: 'denied', code: 'forbidden', targetId: 'PUT /v1/orgs/{id}/x', detail: { a: 1 } }],
  ['the service', { actorKind: 'service', actorId: 'retention', traceId: null, address: null }],
  ['the service creating', { actorKind: 'service', traceId: null, address: null, before: null }],
  [
    'a failed login',
    { action: 'sessions.open', outcome: 'denied', actorKind: 'anonymous', before: null, after: null },
  ],
  ['a login', { action: 'sessions.open', before: null, after: { method: 'key' } }],
  ['a logout', { action: 'sessions.close' }],
  ['a look of support', { actorKind: 'support', targetId: 'GET /v1/runs', before: null, after: null }],
  ['an operator', { actorKind: 'operator' }],
  [
    'hostile text',
    {
      action: 'a|b\\c=d\ne',
      targetId: 'x=1 act=forged\\ |y\r\nCEF:0|forged',
      actorId: 'Zoë 😀 \\n \\= =',
      after: { name: 'a=b\n\\"|' },
    },
  ],
  [
    'what is longer than any field may be',
    { targetId: `a${'😀'.repeat(5_000)}`, actorId: '\\'.repeat(3_000), after: { text: '='.repeat(9_000) } },
  ],
];

/** Characters that some readers treat as a line break. */
const breaks = ['\n', '\r', '\v', '\f', '\u001c', '\u001d', '\u001e', '\u0085', '\u2028', '\u2029'];
const forged = breaks.map((one) => `a${one}forged`).join('');
const forging: Partial<DatedDraft> = {
  action: forged,
  actorId: forged,
  targetId: forged,
  after: { [forged]: forged },
};

test('no line of an export contains a character that a reader may treat as a line break', () => {
  const entry = entryOf(forging);
  const checkpoint = { org_id: forged, seq: 1, hash: '', at: '', token: '' };
  for (const line of [
    cefLine(entry, forged),
    ndjsonLine(entry),
    checkpointLine(checkpoint),
    ocsfLine(entry, '0.1.0'),
  ]) {
    expect(breaks.filter((one) => line.includes(one))).toEqual([]);
  }
  expect(parseExportLine(ndjsonLine(entry))).toEqual({ kind: 'entry', entry });
  const { extension } = parseCef(cefLine(entry, '0.1.0'));
  expect(extension.get('suid')).toBe(breaks.map((one) => `a${one === '\r' ? one : '\n'}forged`).join(''));
  expect(JSON.parse(extension.get('cs5') ?? '')).toMatchObject({ after: entry.after });
});

describe('CEF', () => {
  test.each(drafts)('%s complies with the rules', (_, draft) => {
    expect(cefFaults(parseCef(cefLine(entryOf(draft), '0.1.0')))).toEqual([]);
  });

  test('any content can be parsed back unchanged', () => {
    const entry = entryOf(drafts.find(([name]) => name === 'hostile text')?.[1] ?? {});
    const { header, extension } = parseCef(cefLine(entry, '0|1'));
    expect(header.slice(1, 5)).toEqual(['Purser', 'Purser', '0|1', 'a|b\\c=d e']);
    expect(extension.get('act')).toBe(entry.action);
    expect(extension.get('cs2')).toBe(entry.targetId);
    expect(extension.get('suid')).toBe(entry.actorId);
    expect(JSON.parse(extension.get('cs5') ?? '')).toMatchObject({ after: entry.after });
    expect(extension.get('cn1')).toBe('1');
  });

  test('the checks detect violations of the rules', () => {
    const faultsOf = (line: string) => cefFaults(parseCef(line));
    expect(faultsOf('CEF:1|a|b|c|d|e|11|act=x')).toHaveLength(2);
    expect(faultsOf('CEF:0|a|b|c|d|e|3|src=2001:db8::1 cs1=x made=up')).toHaveLength(3);
    expect(faultsOf(`CEF:0|a|b|c|d|e|3|act=${'x'.repeat(64)}`)).toHaveLength(1);
    for (const line of ['CEF:0|a|b|c|d|e', 'CEF:0|a|b|c|d|e|3|act=a=b', 'CEF:0|a\\x|b|c|d|e|3|']) {
      expect(() => parseCef(line)).toThrow();
    }
  });
});

describe('OCSF', () => {
  const eventOf = (draft: Partial<DatedDraft>) =>
    ocsfEvent(entryOf(draft), '0.1.0') as Record<string, unknown>;

  test.each(drafts)('%s complies with the rules', (_, draft) => {
    expect(ocsfFaults(JSON.parse(JSON.stringify(eventOf(draft))))).toEqual([]);
  });

  test.each<[string, number, number, string]>([
    ['a change', 6_003, 600_303, 'Success'],
    ['a creation', 6_003, 600_301, 'Success'],
    ['a deletion', 6_003, 600_304, 'Success'],
    ['a change of nothing', 6_003, 600_399, 'Success'],
    ['a refusal', 6_003, 600_303, 'Failure'],
    ['the service', 3_004, 300_403, 'Success'],
    ['a failed login', 3_002, 300_201, 'Failure'],
    ['a login', 3_002, 300_201, 'Success'],
    ['a logout', 3_002, 300_202, 'Success'],
    ['a look of support', 6_003, 600_302, 'Success'],
  ])('%s has class %i', (name, class_uid, type_uid, status) => {
    const draft = drafts.find(([one]) => one === name)?.[1] ?? {};
    expect(eventOf(draft)).toMatchObject({ class_uid, type_uid, status });
  });

  test('the checks detect violations of the rules', () => {
    const event = eventOf({});
    expect(ocsfFaults({ ...event, class_uid: 1 })).toHaveLength(1);
    expect(ocsfFaults({ ...event, category_uid: 3, type_uid: 1 })).toHaveLength(2);
    expect(ocsfFaults({ ...event, actor: {}, api: undefined, made: 'up' })).toHaveLength(4);
    expect(ocsfFaults({ ...event, src_endpoint: { ip: 'nowhere' }, time: 'now' })).toHaveLength(2);
  });
});

test('a line of NDJSON contains the whole entry', () => {
  for (const [, draft] of drafts) {
    const entry = entryOf(draft);
    expect(parseExportLine(ndjsonLine(entry))).toEqual({ kind: 'entry', entry });
  }
  expect(parseExportLine('{"seq": 1}')).toBeUndefined();
  expect(parseExportLine('{"seq"')).toBeUndefined();
});
