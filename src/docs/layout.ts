/** The frame around every page of the documentation: search, menu, contents of the page. The look is that of the console. */
import { assets } from '../platform/http/html/assets.ts';
import { html, type Markup, type Part, render } from '../platform/http/html/markup.ts';
import type { Theme } from '../platform/http/html/theme.ts';
import type { Heading } from './markdown.ts';
import type { DocsMenuGroup } from './menu.ts';

export interface DocsPage {
  readonly theme: Theme;
  readonly title: string;
  readonly path: string;
  readonly menu: readonly DocsMenuGroup[];
  /** Headings of the page, for its contents. */
  readonly headings?: readonly Heading[];
  /** Text of the search field. */
  readonly query?: string;
  /** False for pages without a Markdown form. */
  readonly hasMarkdown?: boolean;
  readonly body: Markup;
}

/** Forbids other hosts, inline code and framing. */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  // The theme depends on a cookie.
  vary: 'cookie',
};

export function docsHtml({
  theme,
  title,
  path,
  menu,
  headings = [],
  query,
  hasMarkdown = false,
  body,
}: DocsPage): string {
  const markdownPath = `${path}.md`;
  return render(html`<!doctype html>
<html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><title>${path === '/docs' ? 'Purser documentation' : `${title} · Purser`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.icon}" type="image/svg+xml"><link rel="stylesheet" href="${assets.stylesheet}"><link rel="stylesheet" href="${assets.docsStylesheet}">
${hasMarkdown && html`<link rel="alternate" type="text/markdown" href="${markdownPath}">`}<script src="${assets.docsScript}" defer></script></head>
<body class="docs"><a class="skip" href="#main">Skip to content</a>
<header class="top"><a class="brand" href="/docs">Purser</a><span class="org">Documentation</span>
<form class="docs-search" role="search" action="/docs/search"><label class="hidden" for="q">Search the documentation</label><input id="q" name="q" type="search" placeholder="Search" maxlength="200" autocomplete="off" value="${query ?? ''}"><button>Search</button></form>
<div class="top-end"><a class="docs-menu-jump" href="#menu">Menu</a><a href="/console">Console</a></div></header>
<div class="frame docs-frame"><nav id="menu" class="docs-menu" aria-label="Documentation">${menu.map((group) => menuGroup(group, path))}</nav>
<main id="main" tabindex="-1"><article class="prose">${body}</article>${hasMarkdown && html`<p class="docs-end"><a href="${markdownPath}">This page as Markdown</a></p>`}</main>${contents(headings)}</div></body></html>`);
}

/** Returns a group of the menu. Only the group of the current page is open, because all groups together are longer than a page. */
function menuGroup({ title, entries }: DocsMenuGroup, path: string): Part {
  const isOpen = path === '/docs' || title === 'Start' || entries.some((entry) => entry.path === path);
  return html`<details${isOpen && html` open`}><summary class="docs-menu-title">${title}</summary><ul class="docs-menu-list">${entries.map((entry) => html`<li><a class="docs-menu-link" href="${entry.path}"${entry.path === path && html` aria-current="page"`}>${entry.title}</a></li>`)}</ul></details>`;
}

function contents(headings: readonly Heading[]): Part {
  const shown = headings.filter(({ depth }) => depth === 2);
  return (
    shown.length > 2 &&
    html`<nav class="contents" aria-label="On this page"><h2 class="contents-title">On this page</h2><ul class="contents-list">${shown.map(({ anchor, text }) => html`<li><a class="contents-link" href="#${anchor}">${text}</a></li>`)}</ul></nav>`
  );
}
