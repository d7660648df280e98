/** The files of the released package, and the rules that they follow. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type PackageFiles = ReadonlyMap<string, Buffer>;

/** Documents at the top of the package, with their place in the repository. */
const documents: Readonly<Record<string, string>> = {
  'CHANGELOG.md': 'CHANGELOG.md',
  LICENSE: 'LICENSE',
  'README.md': 'README.md',
  'THIRD_PARTY_LICENSES.md': 'docs/generated/licences.md',
  'sbom.cdx.json': 'docs/generated/sbom.cdx.json',
};

/** Folders of the program, and the files in them that belong to it. Source maps are left out: they name files that are not there. */
const folders: Readonly<Record<string, RegExp>> = {
  assets: /^[a-z][\w.-]*\.(bin|css|js|json|svg|woff2)$/,
  dist: /^[\w./-]+\.js$/,
  // What the documentation site shows.
  docs: /^((guides|operations)\/[\w-]+\.md|concepts\.md|generated\/(settings\.md|examples\.json|purser\.schema\.json)|(generated|images)\/[\w-]+\.(png|svg))$/,
  migrations: /^(\d{4}_\w+\.sql|placement\.json)$/,
};

/** Written by `pack.ts`. */
const written = ['npm-shrinkwrap.json', 'package.json'];

/** Fields of `package.json` that a user of the package needs. */
const manifestFields = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'private',
  'engines',
  'bin',
  'dependencies',
];

export function readPackageFiles(root: string): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const [name, source] of Object.entries(documents)) {
    files.set(name, readFileSync(join(root, source)));
  }
  for (const [folder, belongs] of Object.entries(folders)) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (belongs.test(file)) {
        files.set(`${folder}/${file}`, readFileSync(join(root, folder, file)));
      }
    }
  }
  return files;
}

export function packageManifest(manifest: Readonly<Record<string, unknown>>): string {
  const kept = manifestFields.map((field) => [field, manifest[field]]);
  return `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`;
}

/** Well above the program and its documentation: what goes beyond was packed by mistake. */
const sizeBytesMax = 12_000_000;
/** Paths of a machine on which the package was built. */
const machinePath = /(?<![\w@-])\/(?:home|Users|root|work|builds?|tmp)\/[\w.-]+\//;

/** Returns one sentence for each file that does not belong into the package, is missing, or names a path of the build machine. */
export function packageProblems(files: PackageFiles, expected: PackageFiles): string[] {
  const allowed = (path: string) => {
    const [folder = '', ...rest] = path.split('/');
    return (
      (path in documents && rest.length === 0) ||
      written.includes(path) ||
      (folders[folder]?.test(rest.join('/')) ?? false)
    );
  };
  const total = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  return [
    ...[...files.keys()]
      .filter((path) => !allowed(path))
      .map((path) => `${path} does not belong into the package`),
    ...[...files.keys()]
      .filter((path) => /\.test\.|(^|\/)test\//.test(path))
      .map((path) => `${path} is a test`),
    ...[...expected.keys(), ...written, 'dist/main.js']
      .filter((path) => !files.has(path))
      .map((path) => `${path} is missing`),
    ...[...files].flatMap(([path, content]) => {
      const found = machinePath.exec(content.toString('utf8'));
      return found === null ? [] : [`${path} names a path of this machine: ${found[0]}`];
    }),
    ...(total > sizeBytesMax ? [`the package has ${total} bytes; the maximum is ${sizeBytesMax}`] : []),
  ];
}
