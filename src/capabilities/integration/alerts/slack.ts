/**
 * A message for an incoming webhook of Slack. Slack reads `&`, `<` and `>` as markup, so they are escaped, also because names of
 * customers and models are chosen by others: `<!channel>` would notify everybody. Its limits: 50 blocks, 3,000 characters per text.
 */
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertSection, AlertTone, Message } from './alert-text.ts';

const textCharsMax = 3_000;
const fieldsMax = 10;
const fieldCharsMax = 1_900;
const sectionsMax = 20;

const icons: Readonly<Record<AlertTone, string>> = {
  info: ':information_source:',
  warning: ':warning:',
  critical: ':rotating_light:',
};

export function slackBody(message: Message): object {
  const { title, text, tone, facts = [], sections = [], page, url, orgName, eventId } = message;
  return {
    // Shown in notifications, and by clients that show no blocks.
    text: escaped(`${orgName}: ${title}`, textCharsMax),
    // Otherwise Slack would fetch the page of the console.
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      section(`${icons[tone]} *${escaped(title, 500)}*\n${escaped(text, 2_000)}`),
      ...(facts.length === 0
        ? []
        : [
            {
              type: 'section',
              fields: facts
                .slice(0, fieldsMax)
                .map(([label, value]) =>
                  markdown(`*${escaped(label, 100)}*\n${escaped(value, fieldCharsMax)}`),
                ),
            },
          ]),
      ...sections.slice(0, sectionsMax).map((one) => section(listOf(one))),
      section(`<${url}|${escaped(page.label, 100)}>`),
      {
        type: 'context',
        elements: [markdown(`${escaped(orgName, 200)} · ${escaped(message.eventType, 100)} · ${eventId}`)],
      },
    ],
  };
}

function section(text: string): object {
  return { type: 'section', text: markdown(text) };
}

/** `verbatim`: words such as `@here` and `#general` stay text. */
function markdown(text: string): object {
  return { type: 'mrkdwn', text, verbatim: true };
}

function listOf({ title, lines }: AlertSection): string {
  let list = `*${escaped(title, 200)}*`;
  for (const line of lines) {
    const next = `${list}\n• ${escaped(line, 300)}`;
    if (next.length > textCharsMax) {
      break;
    }
    list = next;
  }
  return list;
}

/** Escapes a text, cut so that the result is not longer than `charsMax`. */
function escaped(text: string, charsMax: number): string {
  const encode = (plain: string) =>
    plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  for (let chars = charsMax; ; chars = Math.floor(chars * 0.8)) {
    const result = encode(shortened(text, chars));
    if (result.length <= charsMax) {
      return result;
    }
  }
}
