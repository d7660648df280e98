/** Finds folders that import each other in a circle. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

interface Import {
  readonly from: string;
  readonly to: string;
}

/**
 * Within each folder, its files and subfolders form a graph: a node imports another node if any file inside it does.
 * Returns a description of every circle. A folder in `shelves` only groups its subfolders, so their subfolders are the
 * nodes instead.
 */
export function findFolderCycles(
  root: string,
  { shelves }: { readonly shelves: readonly string[] },
): string[] {
  const imports = importsUnder(root);
  const folders = new Set([root, ...imports.flatMap(({ from }) => foldersAbove(from, root))]);
  const problems: string[] = [];
  for (const folder of folders) {
    if (shelves.includes(dirname(folder))) {
      continue;
    }
    const depth = shelves.includes(folder) ? 2 : 1;
    const between = imports
      .map(({ from, to }) => ({
        from,
        to,
        fromChild: childOf(folder, from, depth),
        toChild: childOf(folder, to, depth),
      }))
      .filter(
        ({ fromChild, toChild }) => fromChild !== undefined && toChild !== undefined && fromChild !== toChild,
      );
    const graph = new Map<string, Set<string>>();
    for (const { fromChild, toChild } of between) {
      graph.set(fromChild as string, (graph.get(fromChild as string) ?? new Set()).add(toChild as string));
    }
    for (const { from, to, fromChild, toChild } of between) {
      if (reaches(graph, toChild as string, fromChild as string)) {
        problems.push(
          `${folder}: ${fromChild} and ${toChild} import each other in a circle (${from} imports ${to})`,
        );
      }
    }
  }
  return problems;
}

function importsUnder(root: string): Import[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const from = join(root, file);
      const specifiers = readFileSync(from, 'utf8').matchAll(/(?:from|import\(|import) ?'(\.{1,2}\/[^']+)'/g);
      return [...specifiers].map(([, specifier]) => ({
        from,
        to: normalize(join(dirname(from), specifier as string)),
      }));
    });
}

function foldersAbove(file: string, root: string): string[] {
  const folder = dirname(file);
  return folder === root || folder === '.' ? [root] : [folder, ...foldersAbove(folder, root)];
}

/**
 * Returns the file or subfolder of `folder`, `depth` levels below it, that contains `path`; undefined if `path` is elsewhere.
 */
function childOf(folder: string, path: string, depth: number): string | undefined {
  const inside = relative(folder, path);
  return inside.startsWith('..') ? undefined : inside.split('/').slice(0, depth).join('/');
}

function reaches(graph: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const queue = [from];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (node === to) {
      return true;
    }
    if (!seen.has(node)) {
      seen.add(node);
      queue.push(...(graph.get(node) ?? []));
    }
  }
  return false;
}
