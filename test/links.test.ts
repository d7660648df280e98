/** Every link of a document to a file or heading of the repository is valid, and the README leads to every guide. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const repository = resolve(import.meta.dirname, '..');
const filesIn = (folder: string, recursive: boolean) =>
  readdirSync(join(repository, folder), { encoding: 'utf8', recursive }).map((file) => join(folder, file));
const documents = [
  ...filesIn('.', false),
  ...['docs', 'contract', 'src', 'bench', 'test'].flatMap((folder) => filesIn(folder, true)),
].filter((file) => file.endsWith('.md'));

const textOf = (file: string) =>
  readFileSync(join(repository, file), 'utf8').replaceAll(/^```.*?^```$/gms, '');

/** Returns the anchors of the headings, as common Markdown viewers generate them. */
function anchorsOf(file: string): string[] {
  return [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function targetsOf(file: string): string[] {
  return [...textOf(file).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, image]) => link ?? image ?? '')
    .filter((target) => !/^https?:/.test(target));
}

test.each(documents)('%s', (file) => {
  const broken = targetsOf(file).filter((target) => {
    const [path = '', anchor] = target.split('#');
    const found = path === '' ? file : relative(repository, resolve(repository, dirname(file), path));
    return (
      !existsSync(join(repository, found)) || (anchor !== undefined && !anchorsOf(found).includes(anchor))
    );
  });
  expect(broken).toEqual([]);
});

test('the README leads to every guide', () => {
  const linked = targetsOf('README.md');
  expect(documents.filter((file) => file.startsWith('docs/guides/') && !linked.includes(file))).toEqual([]);
});
