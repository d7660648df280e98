/** The frame around every page: skip link, search, account menu, menu, and the message about the last action. */
import { Readable } from 'node:stream';
import { assets } from '../platform/http/html/assets.ts';
import type { Theme } from '../platform/http/html/theme.ts';
import type { PageAnswer } from '../platform/http/routes/page.ts';
import { type Account, accountMenu } from './account-menu.ts';
import { guideOf } from './guides.ts';
import { html, link, type Markup, type Part, render } from './html.ts';
import { isCurrent, type MenuGroup, searchPath } from './navigation.ts';

export interface PageFrame {
  readonly theme: Theme;
  readonly title: string;
  readonly body: Markup;
  readonly status: number;
}

export interface SignedInFrame extends Omit<PageFrame, 'body'> {
  /** Streamed if it is an iterable. */
  readonly body: Markup | AsyncIterable<Markup>;
  readonly menu: readonly MenuGroup[];
  /** Path and query of the page. */
  readonly url: string;
  /** Target of the theme switch. */
  readonly back: string;
  readonly orgName: string;
  readonly account: Account;
  /** The current search, shown in the search box. */
  readonly search?: string;
  /** Message about the last action. */
  readonly done: string | undefined;
  /** True if something on the page is in progress; a number of seconds if the page says itself that it is refreshed. */
  readonly autoRefresh: boolean | number;
  /** Above the page, for visits by operators. */
  readonly banner?: Part;
  /** Target of “Sign out”. */
  readonly signOut?: string;
}

/** Nothing from other hosts, nothing inline, no framing. Each page adds its own `form-action`. */
const policy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const pageHeaders = {
  'cache-control': 'no-store',
  // Keeps nginx from buffering streamed pages.
  'x-accel-buffering': 'no',
  'referrer-policy': 'same-origin',
};

export function signedInPage(frame: SignedInFrame): PageAnswer {
  const {
    menu,
    url,
    back,
    orgName,
    account,
    search = '',
    done,
    autoRefresh,
    banner,
    signOut = '/console/logout',
    body,
    theme,
  } = frame;
  // Only without JavaScript. With JavaScript only the content is replaced, which neither flickers nor moves the focus.
  const everySeconds = autoRefresh === true ? refreshSeconds : autoRefresh;
  const refresh =
    everySeconds !== false &&
    html`<noscript><meta http-equiv="refresh" content="${everySeconds}"></noscript>`;
  const opening = html`${htmlOpening(frame, refresh)}<a class="skip" href="#main">Skip to content</a>
<header class="top"><a class="brand" href="/console">Purser</a><span class="org">${orgName}</span>
<form method="get" action="${searchPath}" class="search" role="search" aria-label="Search">
<input type="search" name="q" value="${search}" aria-label="Search" placeholder="Search by name or ID" maxlength="200" autocomplete="off"></form>
<div class="top-end"><a href="${guideOf(menu, url)}">Docs</a>${accountMenu({ account, orgName, theme, back, signOut })}</div></header>
${banner}
<div class="frame"><nav class="menu" aria-label="Main">${menu.map((group) => menuGroup(group, url))}</nav>
<main id="main" tabindex="-1"${everySeconds !== false && html` data-refresh="${everySeconds}"`}>
${autoRefresh === true && refreshNotice(url)}${done !== undefined && html`<p class="done" role="status">${done}</p>`}`;
  const closing = html`</main></div>${htmlClosing}`;
  return htmlPage(
    frame.status,
    Symbol.asyncIterator in body
      ? Readable.from(piecesOf(opening, body, closing))
      : render(html`${opening}${body}${closing}`),
    "form-action 'self'",
  );
}

function menuGroup({ title, entries }: MenuGroup, url: string): Markup {
  const item = (entry: MenuGroup['entries'][number]) =>
    html`<li><a href="${entry.path}"${isCurrent(entry, url) && html` aria-current="page"`}>${entry.title}</a></li>`;
  return html`<div class="menu-group"><h2>${title}</h2><ul>${entries.map(item)}</ul></div>`;
}

async function* piecesOf(
  opening: Markup,
  body: AsyncIterable<Markup>,
  closing: Markup,
): AsyncGenerator<string> {
  yield render(opening);
  for await (const piece of body) {
    yield render(piece);
  }
  yield render(closing);
}

const refreshSeconds = 4;

function refreshNotice(url: string): Markup {
  const still = link(url.replace(/([?&])done=\w+&?/, '$1').replace(/[?&]$/, ''), { still: 'yes' });
  return html`<p class="note in-progress"><span class="pulse" aria-hidden="true"></span> Refreshing automatically. <a href="${still}">Stop refreshing</a></p>`;
}

/** For visitors who are not signed in. Signing in may redirect to an identity provider, which browsers count as a form target. */
export function plainPage(frame: PageFrame): PageAnswer {
  const body = html`${htmlOpening(frame)}<main id="main" class="plain"><p class="brand">Purser</p>${frame.body}</main>${htmlClosing}`;
  return htmlPage(frame.status, render(body), "form-action 'self' https: http:");
}

function htmlOpening({ theme, title }: Pick<PageFrame, 'theme' | 'title'>, head: Part = false): Markup {
  return html`<!doctype html>
<html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><title>${title} · Purser</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.icon}" type="image/svg+xml"><link rel="stylesheet" href="${assets.stylesheet}">
<script src="${assets.script}" defer></script>${head}</head>
<body>`;
}

const htmlClosing = html`</body></html>`;

function htmlPage(status: number, body: PageAnswer['body'], formAction: string): PageAnswer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body,
    headers: { ...pageHeaders, 'content-security-policy': `${policy}; ${formAction}` },
  };
}
