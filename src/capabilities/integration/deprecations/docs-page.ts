/**
 * `/docs/deprecations` as Markdown: everything that is deprecated now, with its dates and migration steps. Routes come from the
 * registry at the time of the call; settings and deliveries, which are not routes, come from the list of releases.
 */
import type { DeprecationRegistry } from '../../../contract/deprecations.ts';
import { type LedgerDeprecation, type Release, releases } from '../../../contract/releases.ts';
import { anchorsOfOthers, type MigrationNote, migrationNotes } from './migration-notes.ts';

interface DeprecatedItem {
  readonly anchor: string;
  readonly surface: string;
  readonly since: string;
  readonly until: string;
  readonly replacement: string | undefined;
}

interface Section extends MigrationNote {
  readonly anchor: string;
  readonly items: readonly DeprecatedItem[];
}

export function deprecationsMarkdown(registry: Pick<DeprecationRegistry, 'list'>): string {
  const sections = sectionsOf([...routeItems(registry), ...otherItems(releases)]);
  return `${introduction}\n${sections.map(sectionMarkdown).join('\n')}`;
}

const introduction = `# Deprecations

Deprecated features keep working for their whole notice period, and \`/v1\` routes also after it: nothing is ever removed from \`/v1\`.
Every response of a deprecated route has the headers \`Deprecation\` (since when), \`Sunset\` (until when) and \`Link\` (to the documentation
and to the successor). The same list as data: [\`GET /v1/meta/deprecations\`](/v1/meta/deprecations).

A notice period is never shortened. A \`/v1\` route is served beside its \`/v2\` successor for at least 12 months, an event shape until its
published date, and a setting for at least two releases after the one that deprecated it.
`;

function routeItems(registry: Pick<DeprecationRegistry, 'list'>): DeprecatedItem[] {
  return registry.list().map(({ route, since, sunset, replacement, documentation }) => ({
    anchor: documentation.split('#')[1] ?? route,
    surface: route,
    since,
    until: sunset,
    replacement,
  }));
}

/** Removed items are history, which is in the changelog. */
function otherItems(all: readonly Release[]): DeprecatedItem[] {
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

function sectionsOf(items: readonly DeprecatedItem[]): Section[] {
  const byAnchor = new Map<string, DeprecatedItem[]>();
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

function sectionMarkdown({ anchor, title, items, steps }: Section): string {
  const rows = items.map(
    ({ surface, since, until, replacement }) =>
      `| \`${surface}\` | ${since} | ${until} | ${replacement === undefined ? '' : `\`${replacement}\``} |`,
  );
  return `<a id="${anchor}"></a>

## ${title}

| deprecated | announced | sunset | replacement |
|---|---|---|---|
${rows.join('\n')}

${steps.join('\n\n')}
`;
}
