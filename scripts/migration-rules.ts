/** Rules for migrations. What a release contains never changes; what is added to it keeps the last release running. */

import { isNewer } from '../src/kernel/versions.ts';
import type { Migration } from '../src/platform/db/migration-files.ts';

export interface MigrationRules {
  /** Version in package.json. */
  readonly version: string;
  /** The last release and its migrations, or undefined before the first one. */
  readonly released: { readonly version: string; readonly migrations: readonly Migration[] } | undefined;
}

/** Statements after which an older build fails, or that lock a whole table for as long as they take. */
const notExpanding: readonly (readonly [RegExp, string])[] = [
  [/\bDROP\s+(TABLE|COLUMN|CONSTRAINT|VIEW|TYPE|FUNCTION)\b/i, 'drops something'],
  [/\bRENAME\b/i, 'renames something'],
  [/\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b/i, 'changes a type'],
  [/\bSET\s+NOT\s+NULL\b/i, 'adds NOT NULL to a column'],
  [
    /\bADD\s+COLUMN\s+(IF\s+NOT\s+EXISTS\s+)?\w+[^,;]*\bNOT\s+NULL\b(?![^,;]*\bDEFAULT\b)/i,
    'adds a column that older builds do not fill',
  ],
  [/^\s*(UPDATE|DELETE)\b/im, 'rewrites rows in one statement; use a backfill'],
];

export function migrationProblems(
  migrations: readonly Migration[],
  { version, released }: MigrationRules,
): string[] {
  const numbers = migrations.map((migration) => migration.version);
  const twice = migrations
    .filter((migration, index) => numbers.indexOf(migration.version) !== index)
    .map(({ name }) => `migrations/${name}: its number is taken`);
  const unknown = migrations
    .filter(({ readableFrom }) => isNewer(readableFrom, version))
    .map(
      ({ name, readableFrom }) =>
        `migrations/${name}: readable-from ${readableFrom} is newer than ${version}`,
    );
  if (released === undefined) {
    return [...twice, ...unknown];
  }
  const added = migrations.filter(
    ({ version: number }) => !released.migrations.some((migration) => migration.version === number),
  );
  return [
    ...twice,
    ...unknown,
    ...changedSinceRelease(migrations, released),
    ...added.flatMap((migration) => addedProblems(migration, version, released.version)),
  ];
}

function changedSinceRelease(
  migrations: readonly Migration[],
  { version, migrations: released }: NonNullable<MigrationRules['released']>,
): string[] {
  return released.flatMap((before) => {
    const now = migrations.find((migration) => migration.version === before.version);
    const lasting = (migration: Migration | undefined) =>
      [migration?.name, migration?.checksum, migration?.phase, migration?.readableFrom].join();
    return lasting(now) === lasting(before)
      ? []
      : [`migrations/${before.name}: was changed or removed after its release in ${version}`];
  });
}

function addedProblems(
  { name, phase, readableFrom, requiredFrom, sql }: Migration,
  version: string,
  released: string,
): string[] {
  if (version === released) {
    return [`migrations/${name}: ${released} is released; begin the next version first`];
  }
  const statements = sql.replaceAll(/--.*$/gm, '');
  return [
    ...(phase !== 'contract' && isNewer(readableFrom, released)
      ? [
          `migrations/${name}: ${released}, the last release, must work beside an ${phase} migration; otherwise its phase is contract`,
        ]
      : []),
    ...(requiredFrom !== undefined && !isNewer(requiredFrom, version)
      ? [
          `migrations/${name}: ${version} must run beside ${released}, so required-from must be a later version than ${version}`,
        ]
      : []),
    ...(phase === 'expand'
      ? notExpanding
          .filter(([pattern]) => pattern.test(statements))
          .map(([, what]) => `migrations/${name}: an expand migration ${what}`)
      : []),
  ];
}
