/** The rules of a release: everything that must hold before `npm run release` changes anything. */
import type { Release } from '../../src/contract/releases.ts';
import { parseChangelog } from '../contract/check-changelog.ts';
import { isDate } from '../contract/dates.ts';

export interface ReleaseState {
  /** Output of `git status --porcelain`. */
  readonly changedFiles: readonly string[];
  readonly tags: readonly string[];
  readonly packageVersion: string;
  readonly lockVersion: string;
  /** Problems of the package of the client. */
  readonly clientProblems: readonly string[];
  readonly releases: readonly Release[];
  readonly changelog: string;
  readonly notServedYet: readonly string[];
  /** Problems that `npm run check` finds in the contract. */
  readonly contractProblems: readonly string[];
  readonly licenceProblems: readonly string[];
}

export function releaseProblems(state: ReleaseState): string[] {
  const { changedFiles, tags, packageVersion, lockVersion, releases, notServedYet } = state;
  const newest = releases.at(-1);
  return [
    ...(changedFiles.length > 0
      ? [`The working tree has changes that are not committed: ${changedFiles.join(', ')}.`]
      : []),
    ...(newest?.version === packageVersion
      ? []
      : [`package.json is at ${packageVersion}, the release ledger at ${newest?.version}.`]),
    ...(lockVersion === packageVersion
      ? []
      : [`package.json is at ${packageVersion}, package-lock.json at ${lockVersion}: run \`npm install\`.`]),
    ...(newest !== undefined && isDate(newest.date)
      ? [
          `${newest.version} was released on ${newest.date}. Begin the next version with \`npm run release -- --next <version>\`.`,
        ]
      : []),
    ...(tags.includes(`v${packageVersion}`) ? [`The tag v${packageVersion} exists.`] : []),
    ...notesProblems(state.changelog, packageVersion),
    ...(notServedYet.length > 0 ? [`Not served yet: ${notServedYet.join(', ')}.`] : []),
    ...state.clientProblems,
    ...state.contractProblems,
    ...state.licenceProblems,
  ];
}

const pending = /\b(TODO|TBD|FIXME)\b|^pending\b/im;

function notesProblems(changelog: string, version: string): string[] {
  const section = parseChangelog(changelog).find(({ heading }) => heading.startsWith(`${version} (`));
  if (section === undefined) {
    return [`CHANGELOG.md has no section for ${version}.`];
  }
  if (section.entries.length === 0) {
    return [`CHANGELOG.md lists no changes in ${version}.`];
  }
  return section.entries
    .filter((entry) => pending.test(entry))
    .map((entry) => `CHANGELOG.md, ${version}: a note is pending: "${entry.slice(0, 80)}".`);
}

/** Returns the changelog and the release ledger with the date of the release. */
export function dated(
  texts: { readonly changelog: string; readonly ledger: string },
  version: string,
  date: string,
): { changelog: string; ledger: string } {
  return {
    changelog: replaceOnce(texts.changelog, `## ${version} (unreleased)`, `## ${version} (${date})`),
    ledger: replaceOnce(
      texts.ledger,
      `version: '${version}',\n    date: 'unreleased',`,
      `version: '${version}',\n    date: '${date}',`,
    ),
  };
}

/** Returns the changelog and the release ledger with a new, unreleased version. */
export function withNextVersion(
  texts: { readonly changelog: string; readonly ledger: string },
  version: string,
): { changelog: string; ledger: string } {
  const entry = `  {
    version: '${version}',
    date: 'unreleased',
    deprecated: [],
    removed: [],
    successions: [],
    operatorActions: [],
  },
];
`;
  return {
    changelog: texts.changelog.replace(/^## /m, `## ${version} (unreleased)\n\n## `),
    ledger: replaceOnce(texts.ledger, /^\];\n/m, entry),
  };
}

function replaceOnce(text: string, what: string | RegExp, by: string): string {
  if (text.split(what).length !== 2) {
    throw new Error(`"${String(what)}" must occur exactly once`);
  }
  return text.replace(what, () => by);
}
