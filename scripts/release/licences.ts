/** The licences of all dependencies, as a document of the package, and the rule that rejects unsuitable ones. */
import { readFileSync } from 'node:fs';
import { distinctPackages, type LockFile } from './lock-file.ts';

/** Licences that allow distribution in a product with any licence. */
const permissive = new Set([
  '(Apache-2.0 AND BSD-3-Clause)',
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
]);

/** Libraries that the build copies into `dist` (scripts/build.mjs), whose licences require their text to go with the copy; with the file of the text. */
const bundled: Readonly<Record<string, string>> = { typebox: 'license', 'highlight.js': 'LICENSE' };

export function licenceProblems(lock: LockFile): string[] {
  return distinctPackages(lock)
    .filter(({ license }) => license === undefined || !permissive.has(license))
    .map(
      ({ name, version, license }) =>
        `${name}@${version} has ${license === undefined ? 'no declared licence' : `the licence ${license}`}: replace it, or add the licence to scripts/release/licences.ts if it is permissive`,
    );
}

export function licencesDocument(lock: LockFile, licenceText = readLicence): string {
  const rows = distinctPackages(lock).map(
    ({ name, version, license }) => `| ${name} | ${version} | ${license ?? 'unknown'} |`,
  );
  return [
    '# Third-party licences',
    '',
    'The packages that Purser runs with. npm installs each with the text of its licence.',
    '',
    '| package | version | licence |',
    '|---|---|---|',
    ...rows,
    '',
    ...Object.keys(bundled).flatMap((name) => [
      `## ${name}`,
      '',
      'Part of the files in `dist`.',
      '',
      '```',
      licenceText(name).trim(),
      '```',
      '',
    ]),
  ].join('\n');
}

function readLicence(name: string): string {
  return readFileSync(new URL(`../../node_modules/${name}/${bundled[name]}`, import.meta.url), 'utf8');
}
