/**
 * A message for a workflow of Microsoft Teams: an Adaptive Card in the envelope that the trigger “When a Teams webhook request is
 * received” accepts. Texts of others are in text runs, in which Teams does not read Markdown. A message has at most 28 KB.
 */
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertSection, AlertTone, Fact, Message } from './alert-text.ts';

const bytesMax = 28 * 1_000;
const textCharsMax = 2_000;
const lineCharsMax = 300;
const sectionsMax = 10;
const linesMax = 20;

const colors: Readonly<Record<AlertTone, string>> = {
  info: 'Default',
  warning: 'Warning',
  critical: 'Attention',
};

export function teamsBody(message: Message): object {
  const { facts = [], sections = [] } = message;
  let lists = sections
    .slice(0, sectionsMax)
    .map(({ title, lines }) => ({ title, lines: lines.slice(0, linesMax) }));
  let body = envelope(message, facts, lists);
  // Long names could still exceed the size.
  while (Buffer.byteLength(JSON.stringify(body)) > bytesMax && lists.length > 0) {
    lists = lists.slice(0, -1);
    body = envelope(message, facts, lists);
  }
  return body;
}

function envelope(message: Message, facts: readonly Fact[], sections: readonly AlertSection[]): object {
  const { title, text, tone, page, url, orgName, eventId, eventType } = message;
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          fallbackText: shortened(`${orgName}: ${title}`, textCharsMax),
          msteams: { width: 'Full' },
          body: [
            paragraph([{ text: title, weight: 'Bolder', size: 'Medium', color: colors[tone] }]),
            paragraph([{ text }]),
            ...facts.map(([label, value]) =>
              paragraph([{ text: `${label}: `, weight: 'Bolder' }, { text: value }], 'Small'),
            ),
            ...sections.flatMap(({ title: heading, lines }) => [
              paragraph([{ text: heading, weight: 'Bolder' }]),
              ...lines.map((line) => paragraph([{ text: `• ${shortened(line, lineCharsMax)}` }], 'None')),
            ]),
            paragraph([{ text: `${orgName} · ${eventType} · ${eventId}`, isSubtle: true, size: 'Small' }]),
          ],
          actions: [{ type: 'Action.OpenUrl', title: page.label, url }],
        },
      },
    ],
  };
}

interface Run {
  readonly text: string;
  readonly weight?: 'Bolder';
  readonly size?: 'Small' | 'Medium';
  readonly color?: string;
  readonly isSubtle?: boolean;
}

function paragraph(runs: readonly Run[], spacing?: 'None' | 'Small'): object {
  return {
    type: 'RichTextBlock',
    ...(spacing && { spacing }),
    inlines: runs.map((run) => ({ type: 'TextRun', ...run, text: inline(run.text) })),
  };
}

/** Keeps the space after a label. */
function inline(text: string): string {
  const end = text.endsWith(' ') ? ' ' : '';
  return `${shortened(text, textCharsMax)}${end}`;
}
