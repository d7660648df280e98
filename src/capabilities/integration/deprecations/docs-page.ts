/**
 * `/docs/deprecations`: everything that is deprecated now, with its dates and migration steps. Routes come from the
 * registry at the time of the request; settings and deliveries, which are not routes, come from the list of releases.
 */
import type { DeprecationRegistry } from '../../../contract/deprecations.ts';
import { type LedgerDeprecation, type Release, releases } from '../../../contract/releases.ts';
import type { Page } from '../../../platform/http/routes/page.ts';
import { escapeHtml, htmlAnswer, inline } from '../meta/index.ts';
import { anchorsOfOthers, type MigrationNote, migrationNotes } from './migration-notes.ts';

interface Item {
  readonly anchor: string;
  readonly surface: string;
  readonly since: string;
  readonly until: string;
  readonly replacement: string | undefined;
}

interface Section extends MigrationNote {
  readonly anchor: string;
  readonly items: readonly Item[];
}

export function deprecationsPage(registry: Pick<DeprecationRegistry, 'list'>): Page {
  return {
    path: '/docs/deprecations',
    async handler() {
      const sections = sectionsOf([...routeItems(registry), ...otherItems(releases)]);
      return htmlAnswer({
        title: 'Purser: deprecations',
        menuLabel: 'Deprecations',
        menu: `<h2>Deprecations</h2><ul>${sections
          .map(({ anchor, title }) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(title)}</a></li>`)
          .join('')}</ul><p><a href="/docs">API reference</a></p>`,
        main: `${introduction}${sections.map(renderSection).join('\n')}`,
      });
    },
  };
}

const introduction = `<h1>Deprecations</h1>
<p>Deprecated features keep working for their whole notice period, and <code>/v1</code> routes also after it: nothing is ever
removed from <code>/v1</code>. Every response of a deprecated route has the headers <code>Deprecation</code> (since when),
<code>Sunset</code> (until when) and <code>Link</code> (to this page and to the successor). The same list as JSON:
<a href="/v1/meta/deprecations">deprecated routes</a>.</p>
<p>A notice period is never shortened. A <code>/v1</code> route is served beside its <code>/v2</code> successor for at least 12
months, an event shape until its published date, and a setting for at least two releases after the one that deprecated it.</p>
`;

function routeItems(registry: Pick<DeprecationRegistry, 'list'>): Item[] {
  return registry.list().map(({ route, since, sunset, replacement, documentation }) => ({
    anchor: documentation.split('#')[1] ?? route,
    surface: route,
    since,
    until: sunset,
    replacement,
  }));
}

/** Removed items are history, which is in the changelog. */
function otherItems(all: readonly Release[]): Item[] {
  const removed = new Set(all.flatMap((release) => release.removed.map(({ surface }) => surface)));
  return all
    .flatMap((release) => release.deprecated)
    .filter(({ kind, surface }) => kind !== 'route' && !removed.has(surface))
    .map((entry) => ({
      anchor: anchorsOfOthers[entry.surface] ?? entry.surface,
      surface: entry.surface,
      since: entry.announced,
      until: endOf(entry),
      replacement: undefined,
    }));
}

function endOf(entry: LedgerDeprecation): string {
  return entry.kind === 'setting' ? 'no earlier than two releases after the announcement' : entry.sunset;
}

function sectionsOf(items: readonly Item[]): Section[] {
  const byAnchor = new Map<string, Item[]>();
  for (const item of items) {
    byAnchor.set(item.anchor, [...(byAnchor.get(item.anchor) ?? []), item]);
  }
  return [...byAnchor].map(([anchor, its]) => ({
    anchor,
    items: its,
    // Items without a migration note are listed with their dates.
    ...(migrationNotes[anchor] ?? { title: its[0]?.surface ?? anchor, steps: [] }),
  }));
}

function renderSection({ anchor, title, items, steps }: Section): string {
  return `<section id="${escapeHtml(anchor)}"><h3>${escapeHtml(title)}</h3>
${items.map(renderItem).join('')}${steps.map((step) => `<p>${inline(step)}</p>`).join('')}</section>`;
}

function renderItem({ surface, since, until, replacement }: Item): string {
  const rows = [
    ['Announced', escapeHtml(since)],
    ['Sunset', escapeHtml(until)],
    ...(replacement === undefined ? [] : [['Replacement', `<code>${escapeHtml(replacement)}</code>`]]),
  ];
  const cells = rows.map(([name, value]) => `<tr><td>${name}</td><td>${value}</td></tr>`);
  return `<p class="call">${escapeHtml(surface)}</p><table>${cells.join('')}</table>`;
}
