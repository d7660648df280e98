import { describe, expect, test } from 'vitest';
import { render } from './html.ts';
import { pager } from './pager.ts';
import { periodBar, periodOf, rangeLabel } from './periods.ts';

const at = (query: string, timezone = 'America/New_York', now = '2026-11-16T03:00:00Z') =>
  periodOf({ query: new URLSearchParams(query), now: new Date(now), org: { timezone } }, '30d');

describe('a range', () => {
  test.each([
    // It is still 15 November in New York, where clocks were set back on the 1st.
    ['range=today', '2026-11-15T05:00:00.000Z', '2026-11-16T05:00:00.000Z', '15 Nov 2026'],
    ['range=7d', '2026-11-09T05:00:00.000Z', '2026-11-16T05:00:00.000Z', '9 – 15 Nov 2026'],
    ['', '2026-10-17T04:00:00.000Z', '2026-11-16T05:00:00.000Z', '17 Oct – 15 Nov 2026'],
    ['range=month', '2026-11-01T04:00:00.000Z', '2026-11-16T05:00:00.000Z', '1 – 15 Nov 2026'],
    ['range=last_month', '2026-10-01T04:00:00.000Z', '2026-11-01T04:00:00.000Z', '1 – 31 Oct 2026'],
    ['from=2026-11-01&to=2026-11-01', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z', '1 Nov 2026'],
    [
      'from=2025-12-31&to=2026-01-01',
      '2025-12-31T05:00:00.000Z',
      '2026-01-02T05:00:00.000Z',
      '31 Dec 2025 – 1 Jan 2026',
    ],
    [
      'from=2026-11-06T15:00:00Z&to=2026-11-06T16:00:00Z',
      '2026-11-06T15:00:00.000Z',
      '2026-11-06T16:00:00.000Z',
      '6 Nov 2026, 10:00 – 11:00',
    ],
  ])('%s is whole days of the time zone of the organization', (query, from, to, label) => {
    expect(at(query)).toMatchObject({ api: { from, to }, label });
  });

  test('a range is the same on the page that its parameters lead to', () => {
    for (const query of ['range=7d', 'range=last_month', 'from=2026-10-03&to=2026-10-09']) {
      const period = at(query);
      expect(at(new URLSearchParams(period.query).toString()).api).toEqual(period.api);
    }
  });

  test.each(['from=yesterday', 'to=2026-02-30', 'from=2026-13-01&to=2026-11-01', 'from=%22%3E'])(
    '%s is passed on, so that the API rejects it',
    (query) => {
      const { api, label } = at(query);
      expect(label).toBe('Invalid range');
      const given = new URLSearchParams(query);
      expect(api).toMatchObject(given.has('from') ? { from: given.get('from') } : { to: given.get('to') });
      const bar = render(periodBar({ path: '/x', query: given, period: at(query) }));
      expect(bar).not.toContain('">"');
    },
  );

  test('a range without a known name is passed on too', () => {
    expect(at('range=90d')).toMatchObject({ api: { range: '90d' }, label: 'Invalid range' });
  });

  test('keeps the other parameters of the page, but not the position in a list', () => {
    const query = new URLSearchParams('range=7d&model=a%26b&cursor=x&first=51&sort=-cost_usd');
    const bar = render(periodBar({ path: '/console/runs', query, period: at(query.toString()) }));
    expect(bar).toContain('href="/console/runs?model=a%26b&amp;sort=-cost_usd&amp;range=last_month"');
    expect(bar).not.toContain('cursor');
    expect(bar).toMatch(/aria-current="page">7 days/);
  });

  test('a range of several days with hours has both dates', () => {
    const label = rangeLabel(Date.UTC(2026, 10, 6, 10), Date.UTC(2026, 10, 7, 11, 30), 'UTC');
    expect(label).toBe('6 Nov 2026, 10:00 – 7 Nov 2026, 11:30');
  });
});

describe('a pager', () => {
  const rows = (length: number) => Array.from({ length }, () => ({}));
  const textOf = (query: string, listed: Partial<Parameters<typeof pager>[2]>, length = 50) =>
    render(
      pager(
        '/console/runs',
        new URLSearchParams(query),
        { data: rows(length), next_cursor: null, prev_cursor: null, ...listed },
        50,
      ),
    );

  test('shows the position and the number of rows, as a lower bound if it is one', () => {
    const next = { next_cursor: 'n' };
    expect(textOf('', { ...next, count: { value: 20_004, exact: true } })).toContain('1–50 of 20,004<');
    expect(textOf('', { ...next, count: { value: 25_000, exact: false } })).toContain('1–50 of 25,000+<');
    expect(textOf('cursor=c&first=51', { ...next, prev_cursor: 'p' })).toContain('51–100<');
    // The end of the list is the number, whatever was counted.
    const last = { prev_cursor: 'p', count: { value: 3, exact: false } };
    expect(textOf('cursor=c&first=101', last, 20)).toContain('101–120 of 120<');
  });

  test('links both ways, and the first page has no position', () => {
    const both = { next_cursor: 'n', prev_cursor: 'p' };
    const third = textOf('model=m&cursor=c&first=101', both);
    expect(third).toContain('href="/console/runs?model=m&amp;cursor=p&amp;first=51" rel="prev"');
    expect(third).toContain('href="/console/runs?model=m&amp;cursor=n&amp;first=151" rel="next"');
    expect(textOf('model=m&cursor=c&first=51', both)).toContain('href="/console/runs?model=m" rel="prev"');
  });

  test.each(['-5', 'x', '1e99', '0'])('does not depend on a sensible `first=%s`', (first) => {
    expect(textOf(`cursor=c&first=${first}`, { prev_cursor: 'p' })).toContain('1–50 of 50<');
  });
});
