/**
 * Compares the changelog with the release ledger. Three kinds of entries have a fixed form: "Deprecated since <date>:
 * `<surface>` …", "Removed: `<surface>` …" and "Operators: <action>".
 */
import type { LedgerDeprecation, Release } from '../../src/contract/releases.ts';
import { broken } from './promises.ts';

interface Section {
  readonly heading: string;
  readonly entries: readonly string[];
}

/** A section per version, newest first; an entry is a bullet with its lines joined. */
export function parseChangelog(text: string): Section[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [heading = '', ...lines] = part.split('\n');
      const entries = lines.join('\n').split(/^- /m).slice(1);
      return {
        heading,
        // An entry ends at the first empty line; what follows is prose.
        entries: entries.map((entry) => (entry.split('\n\n')[0] ?? '').replaceAll(/\s+/g, ' ').trim()),
      };
    });
}

export function checkChangelog(text: string, releases: readonly Release[], packageVersion: string): string[] {
  const sections = parseChangelog(text);
  return [
    ...checkHeadings(sections, releases, packageVersion),
    ...releases.flatMap((release) => {
      const entries = sections.find(({ heading }) => heading === headingOf(release))?.entries ?? [];
      return [
        ...release.deprecated.flatMap((deprecation) =>
          checkAnnouncement(release.version, deprecation, entries),
        ),
        ...release.removed
          .filter(({ surface }) => !entries.some((entry) => isAbout(entry, 'Removed:', surface)))
          .map(({ surface }) =>
            broken('changelog', `CHANGELOG.md, ${release.version}: the removal of ${surface} is missing`),
          ),
        ...release.operatorActions
          .filter((action) => !entries.includes(`Operators: ${action}`))
          .map((action) =>
            broken(
              'operators',
              `CHANGELOG.md, ${release.version}: the operator action "${action}" is missing`,
            ),
          ),
        ...checkUnknown(release, entries),
      ];
    }),
  ];
}

function checkHeadings(
  sections: readonly Section[],
  releases: readonly Release[],
  packageVersion: string,
): string[] {
  const wanted = releases.map(headingOf).reverse();
  const found = sections.map(({ heading }) => heading);
  const newest = releases.at(-1)?.version;
  return [
    ...wanted
      .filter((heading) => !found.includes(heading))
      .map((heading) => broken('ledger', `CHANGELOG.md: there is no section "## ${heading}"`)),
    ...found
      .filter((heading) => !wanted.includes(heading))
      .map((heading) => broken('ledger', `CHANGELOG.md: "## ${heading}" is no release of the ledger`)),
    ...(sameItems(wanted, found) && String(wanted) !== String(found)
      ? [broken('ledger', 'CHANGELOG.md: its sections are not in the order of the ledger, newest first')]
      : []),
    ...(newest === packageVersion
      ? []
      : [broken('ledger', `package.json is at ${packageVersion}, the release ledger at ${newest}`)]),
  ];
}

function headingOf({ version, date }: Release): string {
  return `${version} (${date})`;
}

function sameItems(a: readonly string[], b: readonly string[]): boolean {
  return String([...a].sort()) === String([...b].sort());
}

function checkAnnouncement(
  version: string,
  deprecation: LedgerDeprecation,
  entries: readonly string[],
): string[] {
  const { surface, announced } = deprecation;
  const entry = entries.find((text) => isAbout(text, `Deprecated since ${announced}:`, surface));
  if (entry === undefined) {
    return [
      broken(
        'changelog',
        `CHANGELOG.md, ${version}: the deprecation of ${surface} since ${announced} is missing`,
      ),
    ];
  }
  return deprecation.kind === 'setting' || entry.includes(deprecation.sunset)
    ? []
    : [
        broken(
          'changelog',
          `CHANGELOG.md, ${version}: the deprecation of ${surface} does not say its sunset ${deprecation.sunset}`,
        ),
      ];
}

function isAbout(entry: string, start: string, surface: string): boolean {
  return entry.startsWith(`${start} \`${surface}\``);
}

/** Rejects announcements and removals that are not in the release ledger. */
function checkUnknown(
  { version, deprecated, removed, operatorActions }: Release,
  entries: readonly string[],
): string[] {
  const known = [
    ...deprecated.map(({ surface, announced }) => `Deprecated since ${announced}: \`${surface}\``),
    ...removed.map(({ surface }) => `Removed: \`${surface}\``),
    ...operatorActions.map((action) => `Operators: ${action}`),
  ];
  return entries
    .filter((entry) => /^(Deprecated|Removed|Operators)\b/.test(entry))
    .filter((entry) => !known.some((start) => entry.startsWith(start)))
    .map((entry) =>
      broken('ledger', `CHANGELOG.md, ${version}: "${entry.slice(0, 80)}" is not in the release ledger`),
    );
}
