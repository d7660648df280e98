/** The packages that Purser runs with, from `package-lock.json`, so that the result does not depend on the machine. */
import { readFileSync } from 'node:fs';

export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface LockFile {
  readonly version: string;
  readonly packages: Readonly<Record<string, LockedPackage>>;
  readonly [field: string]: unknown;
}

export function readLockFile(): LockFile {
  return JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as LockFile;
}

/** A package at the path where npm installs it. */
export interface RuntimePackage {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly license: string | undefined;
}

const inside = 'node_modules/';

/** In the order of their names, without development dependencies. The same version may be installed at several paths. */
export function runtimePackages({ packages }: LockFile): RuntimePackage[] {
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path, { version = '', integrity = '', license }]) => {
      const name = path.slice(path.lastIndexOf(inside) + inside.length);
      return { path, name, version, integrity, license };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Each name and version once. */
export function distinctPackages(lock: LockFile): RuntimePackage[] {
  const found = new Map(runtimePackages(lock).map((one) => [`${one.name}@${one.version}`, one]));
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
