/** HTML documents without inline scripts or resources of other hosts. All text is escaped. */
import { createHash } from 'node:crypto';
import type { PageAnswer } from '../routes/page.ts';
import type { Assets } from './assets.ts';
import type { Theme } from './theme.ts';

export interface HtmlDocument {
  readonly status?: number;
  readonly title: string;
  /** The theme, if the stylesheet has several. */
  readonly theme?: Theme;
  /** An inline stylesheet, or the paths of the console's stylesheet and icon. */
  readonly look: { readonly style: string } | Pick<Assets, 'stylesheet' | 'icon'>;
  /** Content as HTML. */
  readonly body: string;
  /** Additional directives of the content security policy, such as `form-action 'self'`. */
  readonly policy?: string;
  readonly headers?: PageAnswer['headers'];
}

export function htmlDocument({
  status = 200,
  title,
  theme = 'auto',
  look,
  body,
  policy,
  headers,
}: HtmlDocument): PageAnswer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body: `<!doctype html><html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${
      'style' in look
        ? `<style>${look.style}</style>`
        : `<link rel="icon" href="${look.icon}" type="image/svg+xml"><link rel="stylesheet" href="${look.stylesheet}">`
    }</head>
<body>${body}</body></html>`,
    headers: {
      'content-security-policy': [
        "default-src 'none'",
        'style' in look
          ? `style-src 'sha256-${createHash('sha256').update(look.style).digest('base64')}'`
          : "style-src 'self'; img-src 'self'",
        ...(policy === undefined ? [] : [policy]),
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      // Not `no-referrer`, with which browsers would send our own forms with `Origin: null`, like forms of another site.
      'referrer-policy': 'same-origin',
      ...headers,
    },
  };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for use as content or inside a quoted attribute. */
export function escapeHtml(text: string): string {
  // Most texts need no escaping, and this test is cheaper than a copy.
  return /[&<>"']/.test(text) ? text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '') : text;
}
