/** The rules that the package of the client follows: `npm publish packages/client` publishes it with the release. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const clientFolder = 'packages/client';

interface Manifest {
  readonly version?: string;
  readonly private?: boolean;
  readonly files?: readonly string[];
  readonly exports?: Readonly<
    Record<string, string | { readonly types?: string; readonly default?: string }>
  >;
  readonly [name: string]: unknown;
}

/** Returns one sentence for each reason not to publish. `version`: that of the service. */
export function clientProblems(root: string, version: string): string[] {
  const folder = join(root, clientFolder);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const missing = ['README.md', 'LICENSE'].filter((name) => !existsSync(join(folder, name)));
  return manifestProblems(manifest, version).concat(
    missing.map((name) => `${clientFolder}/${name} is missing.`),
  );
}

export function manifestProblems(manifest: Manifest, version: string): string[] {
  const name = `${clientFolder}/package.json`;
  const entries = Object.entries(manifest.exports ?? {}).filter(([path]) => path !== './package.json');
  const outside = entries.filter(([, entry]) => {
    const targets = typeof entry === 'string' ? [entry] : [entry.types, entry.default];
    return targets.some((target) => target?.startsWith('./dist/') !== true);
  });
  return [
    ...(manifest.version === version
      ? []
      : [`${name} is at ${manifest.version}, the service at ${version}.`]),
    ...(manifest.private === true ? [`${name} is private: it cannot be published.`] : []),
    ...(manifest.files?.join() === 'dist' ? [] : [`${name}: \`files\` must be the build alone.`]),
    ...(entries.length === 0 ? [`${name} exports nothing.`] : []),
    ...outside.map(([path]) => `${name}: the export ${path} is not in the build, or has no types.`),
    ...Object.keys(manifest)
      .filter((field) => /dependencies$/i.test(field))
      .map((field) => `${name} has ${field}: the client has none.`),
  ];
}
