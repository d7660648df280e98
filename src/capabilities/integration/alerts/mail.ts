/** An alert as an e-mail: text and HTML, with the headers that identify it and let a recipient leave. */
import { createHash } from 'node:crypto';
import { eventIdHeader } from '../../../contract/webhook-signing.ts';
import { escapeHtml } from '../../../platform/http/html/html.ts';
import type { Mail } from '../../../platform/mail/mailer.ts';
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertTone, Message } from './alert-text.ts';

export interface MailContext {
  readonly subscriptionId: string;
  readonly to: readonly string[];
  /** The domain of the sender. */
  readonly domain: string;
  /** A page on which the recipient can unsubscribe, without signing in. */
  readonly unsubscribeUrl: string;
}

const subjectCharsMax = 150;
const colors: Readonly<Record<AlertTone, string>> = {
  info: '#3b5bdb',
  warning: '#b35c00',
  critical: '#c92a2a',
};

export function alertMail(
  message: Message,
  { subscriptionId, to, domain, unsubscribeUrl }: MailContext,
): Mail {
  const { eventId, orgName, title } = message;
  return {
    to,
    subject: shortened(`[${orgName}] ${title}`, subjectCharsMax),
    text: plainText(message, unsubscribeUrl),
    html: htmlText(message, unsubscribeUrl),
    messageId: messageIdOf([eventId, subscriptionId, to.join(' ')], domain),
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'List-Id': `<${subscriptionId}.${domain}>`,
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      [eventIdHeader]: eventId,
    },
  };
}

/** The same for every attempt: servers and people recognize a repeated message by it. */
function messageIdOf(
  [eventId, subscriptionId, recipients]: readonly [string, string, string],
  domain: string,
): string {
  const recipient = createHash('sha256').update(recipients).digest('hex').slice(0, 12);
  return `<${eventId}.${subscriptionId}.${recipient}@${domain}>`;
}

function reason(orgName: string): string {
  return `You get this e-mail because your address is in the e-mail alerts of ${orgName}.`;
}

function plainText(message: Message, unsubscribeUrl: string): string {
  const { title, text, facts = [], sections = [], page, url, orgName, eventType, eventId } = message;
  return [
    title,
    '',
    text,
    ...(facts.length === 0 ? [] : ['', ...facts.map(([label, value]) => `${label}: ${value}`)]),
    ...sections.flatMap((section) => ['', section.title, ...section.lines.map((line) => `- ${line}`)]),
    '',
    `${page.label}: ${url}`,
    '',
    '-- ',
    reason(orgName),
    `Unsubscribe: ${unsubscribeUrl}`,
    `${eventType} · ${eventId}`,
    '',
  ].join('\n');
}

function htmlText(message: Message, unsubscribeUrl: string): string {
  const { title, text, tone, facts = [], sections = [], page, url, orgName, eventType, eventId } = message;
  const e = escapeHtml;
  const factRows = facts
    .map(
      ([label, value]) =>
        `<tr><td style="padding:2px 16px 2px 0;color:#5c636a">${e(label)}</td><td style="padding:2px 0">${e(value)}</td></tr>`,
    )
    .join('');
  const lists = sections
    .map(
      (section) =>
        `<h2 style="font-size:15px;margin:20px 0 4px">${e(section.title)}</h2><ul style="margin:0;padding-left:20px">${section.lines.map((line) => `<li>${e(line)}</li>`).join('')}</ul>`,
    )
    .join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${e(title)}</title></head>
<body style="margin:0;padding:24px;background:#f6f7f9;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#1c1e21">
<div style="max-width:560px;margin:0 auto;background:#fff;border:1px solid #e3e5e8;border-top:4px solid ${colors[tone]};border-radius:6px;padding:20px 24px">
<p style="margin:0 0 8px;color:#5c636a;font-size:13px">${e(orgName)}</p>
<h1 style="font-size:18px;margin:0 0 8px">${e(title)}</h1>
<p style="margin:0 0 16px">${e(text)}</p>
${factRows === '' ? '' : `<table role="presentation" style="border-collapse:collapse;margin:0 0 16px">${factRows}</table>`}${lists}
<p style="margin:20px 0 0"><a href="${e(url)}" style="display:inline-block;background:#1c1e21;color:#fff;text-decoration:none;padding:8px 14px;border-radius:4px">${e(page.label)}</a></p>
</div>
<p style="max-width:560px;margin:16px auto 0;color:#5c636a;font-size:12px">${e(reason(orgName))} <a href="${e(unsubscribeUrl)}" style="color:#5c636a">Unsubscribe</a><br>${e(eventType)} · ${e(eventId)}</p>
</body></html>
`;
}
