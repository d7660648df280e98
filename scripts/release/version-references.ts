/**
 * Versions of Purser that manifests and documents name. `npm run generate` sets them, `npm run check` rejects stale ones, and
 * `npm run release` runs both, so that no file names a version by hand.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Versions {
  /** The version of package.json. */
  readonly current: string;
  /** The newest version that was released; undefined before the first release. */
  readonly released: string | undefined;
}

const semver = String.raw`\d+\.\d+\.\d+`;

interface Reference {
  /** The text around a version, with the version as the second group. */
  readonly pattern: RegExp;
  versionOf(versions: Versions): string | undefined;
}

const references: readonly Reference[] = [
  // A package, an image or a dependency: purser-1.2.3.tgz, purser:1.2.3, purser@1.2.3.
  { pattern: new RegExp(`(\\bpurser[-:@])(${semver})`, 'g'), versionOf: ({ current }) => current },
  { pattern: new RegExp(`(\\bnewTag: )(${semver})`, 'g'), versionOf: ({ current }) => current },
  { pattern: new RegExp(`(\\bnewest release, )(${semver})`, 'g'), versionOf: ({ released }) => released },
];

/** History names the versions of its time. */
const excluded = /^docs\/(decisions|generated|images)\//;
const roots = ['README.md', 'SECURITY.md', 'deploy', 'docs', 'integrations', 'packages/client/README.md'];
const textFile = /\.(md|ya?ml|json|service|sysusers|example)$|\/Dockerfile$/;

/** Returns the text with the versions that it should name. */
export function withVersions(text: string, versions: Versions): string {
  return references.reduce(
    (result, { pattern, versionOf }) =>
      result.replace(pattern, (_, before: string, named: string) => before + (versionOf(versions) ?? named)),
    text,
  );
}

/** Returns every file that names a version, by its path, with its current text. */
export function versionedDocuments(root: string, versions: Versions): Record<string, string> {
  const documents: Record<string, string> = {};
  for (const path of roots.flatMap((one) => filesBelow(root, one))) {
    const text = readFileSync(join(root, path), 'utf8');
    if (references.some(({ pattern }) => text.search(pattern) !== -1)) {
      documents[path] = withVersions(text, versions);
    }
  }
  return documents;
}

/** Returns a problem for each version in a manifest that `npm run generate` would not keep current. */
export function strayVersions(root: string, known: readonly string[]): string[] {
  return filesBelow(root, 'deploy').flatMap((path) => {
    const rest = references.reduce(
      (text, { pattern }) => text.replaceAll(pattern, ''),
      readFileSync(join(root, path), 'utf8'),
    );
    return known
      .filter((version) => new RegExp(`(?<![\\d.])${version.replaceAll('.', '\\.')}(?![\\d.])`).test(rest))
      .map(
        (version) =>
          `${path} names ${version} in a form that scripts/release/version-references.ts does not know.`,
      );
  });
}

function filesBelow(root: string, path: string): string[] {
  if (textFile.test(path)) {
    return [path];
  }
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const inside = `${path}/${entry.name}`;
    if (excluded.test(`${inside}/`)) {
      return [];
    }
    return entry.isDirectory() ? filesBelow(root, inside) : textFile.test(inside) ? [inside] : [];
  });
}
