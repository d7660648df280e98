/**
 * Layout of the documentation pages: plain HTML without scripts or external resources, so that they work in restricted
 * networks.
 */
import { escapeHtml, htmlDocument } from '../../../platform/http/html/html.ts';
import type { PageAnswer } from '../../../platform/http/routes/page.ts';

export { escapeHtml };

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: light-dark(#0b5d4a, #6fd3b8); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 60rem); gap: 2.5rem; padding: 2rem; }
nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow: auto; font-size: .9rem; }
nav ul { list-style: none; padding: 0; margin: 0 0 1rem; } nav a { text-decoration: none; color: inherit; }
nav a:hover, nav a:focus { color: var(--accent); text-decoration: underline; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .06em; margin: 0 0 .2rem; }
h1 { margin: 0 0 .2rem; } a { color: var(--accent); }
section { border-top: 1px solid var(--line); padding: 1.2rem 0; } section h3 { margin: 0 0 .3rem; }
.call { font-family: ui-monospace, monospace; background: var(--soft); padding: .35rem .6rem; border-radius: .4rem; overflow-wrap: anywhere; }
.call b { color: var(--accent); } code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; table-layout: fixed; width: 100%; font-size: .92rem; margin: .4rem 0 1rem; }
td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } td:first-child { width: 12rem; } td:nth-child(2):not(:last-child) { width: 13rem; }
h4 { margin: .8rem 0 0; font-size: .95rem; }
@media (max-width: 56rem) { body { display: block; padding: 1rem; } nav { position: static; max-height: none; } }
`;

export interface HtmlPage {
  readonly title: string;
  /** Accessible name of the menu. */
  readonly menuLabel: string;
  /** Menu and `main` are HTML. */
  readonly menu: string;
  readonly main: string;
}

export function htmlAnswer({ title, menuLabel, menu, main }: HtmlPage): PageAnswer {
  const body = `<nav aria-label="${menuLabel}">${menu}</nav><main>${main}</main>`;
  return htmlDocument({ title, look: { style }, body });
}

export function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((part) => `<p>${inline(part)}</p>`)
    .join('');
}

/** Converts descriptions, which use back-ticks for code and blank lines between paragraphs. */
export function inline(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n\n', '<br>');
}
