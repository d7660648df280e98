/** The texts of alerts, and their form for Slack, Teams and e-mail, also with hostile names. */
import { describe, expect, test } from 'vitest';
import { checkSlackMessage, checkTeamsMessage } from '../../../../test/support/chat-receivers.ts';
import { isMessageEvent, messageEvents } from '../../../contract/alert-events.ts';
import { eventCatalog } from '../../../contract/events.ts';
import type { AlertText, Message } from './alert-text.ts';
import { digestText } from './digest-text.ts';
import { change, usd } from './format.ts';
import { exhaustedText, forecastText, thresholdText } from './limit-texts.ts';
import { alertMail } from './mail.ts';
import { createMessages } from './messages.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';

const context = { row: { name: 'team-a', period: 'day', owner: null }, timezone: 'UTC' } as const;
const limit = {
  limit_id: 'bud_1',
  kind: 'budget',
  match: {},
  unit: 'usd',
  limit: '50',
  window_end: '2026-11-18T00:00:00.000Z',
};

function messageOf(text: AlertText, more: Partial<Message> = {}): Message {
  return {
    ...text,
    orgName: 'Acme',
    eventId: 'evt_1',
    eventType: 'limit.exhausted',
    at: new Date('2026-11-17T00:00:00Z'),
    url: `https://purser.example${text.page.path}`,
    ...more,
  };
}

describe('a text', () => {
  test('says how much of a limit is used, and when it resets', () => {
    expect(thresholdText({ ...limit, threshold_percent: 80, settled: '40' }, context)).toMatchObject({
      title: 'Budget team-a has used 80%',
      text: 'Budget team-a has used 80% ($40 of $50) of its day. It resets on Wed, 18 Nov 2026, 00:00 UTC.',
      page: { path: '/console/limits/bud_1' },
    });
  });

  test('names the counter of a limit with a wildcard, and works for a deleted limit', () => {
    const matched = { customer_id: 'c-7' };
    const about = { ...limit, match: { customer_id: '*' }, matched, used: '50', code: 'budget_exceeded' };
    const { title, text } = exhaustedText(about, { row: undefined, timezone: 'Europe/Berlin' });
    expect(title).toBe('Budget (customer c-7) has blocked a request');
    expect(text).toContain('$50 of $50');
    expect(text).toContain('Wed, 18 Nov 2026, 01:00 CET');
  });

  test('says what to do about a prepaid balance, which never resets', () => {
    const about = { ...limit, kind: 'prepaid', window_end: null, used: '50', code: 'quota_exhausted' };
    expect(exhaustedText(about, { ...context, row: undefined }).text).toContain('until it is topped up');
  });

  test('forecasts the day on which a limit runs out', () => {
    const about = {
      ...limit,
      used: '20',
      runs_out_on: '2026-11-17',
      earliest_on: null,
      latest_on: null,
      expected_at_window_end: '70',
    };
    expect(forecastText(about, context).title).toBe(
      'Budget team-a is forecast to run out on Tue, 17 Nov 2026',
    );
  });

  test('rounds amounts for reading', () => {
    expect(['40', '40.5', '0.0065', '1234.567', '-3'].map(usd)).toEqual([
      '$40',
      '$40.50',
      '$0.0065',
      '$1,234.57',
      '−$3',
    ]);
    expect([change('110', '100'), change('50', '100'), change('1', '0')]).toEqual(['+10%', '−50%', '']);
  });

  test('the text of a digest compares with the week before', () => {
    const { title, text, sections } = digestText(eventCatalog['digest.weekly'].example as never);
    expect(title).toBe('Week of Mon, 9 Nov 2026: $412.50 spent');
    expect(text).toContain('+8% against the week before ($380.25)');
    expect(sections?.map((section) => section.title)).toEqual([
      'Top customers',
      'Top models',
      'What it was spent on',
      'Limits nearly used up',
      'Blocked requests: 34',
      'Models without a price',
      'API keys that expire soon',
    ]);
  });
});

/** Returns nothing: neither the organization nor the limit is known. */
const emptyDatabase = { query: async () => [] } as never;

describe('a message of every event', () => {
  const build = createMessages({ db: emptyDatabase, baseUrl: () => 'https://purser.example' });

  test.each([...messageEvents, 'webhook.test' as const])('%s is complete in every format', async (type) => {
    expect(isMessageEvent(type)).toBe(true);
    const event = {
      id: 'evt_1',
      type,
      createdAt: new Date(),
      orgId: 'org_1',
      data: eventCatalog[type].example,
    };
    const message = await build(event);
    expect(`${message.title} ${message.text}`).not.toMatch(/undefined|null|NaN|\[object/);
    expect(message.url).toMatch(/^https:\/\/purser\.example\/console/);
    expect(checkSlackMessage(slackBody(message))).toEqual([]);
    expect(checkTeamsMessage(teamsBody(message))).toEqual([]);
    expect(JSON.stringify(slackBody(message))).toContain('evt_1');
    expect(JSON.stringify(teamsBody(message))).toContain('evt_1');
  });
});

describe('names that others choose', () => {
  const name = `<!channel> & "x" *bold* [a](https://evil.example) ${'€<&'.repeat(2_000)}\r\nBcc: eve@example.com`;
  const text = thresholdText(
    { ...limit, threshold_percent: 80, settled: '40' },
    { ...context, row: { name, period: 'day', owner: name } },
  );
  const long: AlertText = {
    ...text,
    title: name,
    text: name,
    sections: Array.from({ length: 60 }, () => ({
      title: name,
      lines: Array.from({ length: 200 }, () => name),
    })),
  };

  test.each([
    ['a usual message', text],
    ['a very long one', long],
  ])('do not break the markup and limits of chats: %s', (_case, one) => {
    const message = messageOf(one, { orgName: name });
    const slack = slackBody(message);
    expect(checkSlackMessage(slack)).toEqual([]);
    expect(JSON.stringify(slack)).not.toContain('<!channel>');
    expect(JSON.stringify(slack)).toContain('&lt;!channel&gt;');
    expect(checkTeamsMessage(teamsBody(message))).toEqual([]);
  });

  test('do not break the headers and the HTML of an e-mail', () => {
    const mail = alertMail(messageOf(text, { orgName: name }), {
      subscriptionId: 'eml_1',
      to: ['ada@example.com'],
      domain: 'example.com',
      unsubscribeUrl: 'https://purser.example/console/unsubscribe/x',
    });
    expect(mail.subject).not.toMatch(/[\r\n]/);
    expect(mail.subject.length).toBeLessThanOrEqual(150);
    expect(mail.html).not.toContain('<!channel>');
    expect(mail.headers).toMatchObject({ 'Auto-Submitted': 'auto-generated', 'X-Svc-Event-Id': 'evt_1' });
    expect(mail.messageId).toMatch(/^<evt_1\.eml_1\.[0-9a-f]{12}@example\.com>$/);
  });
});
