/**
 * Migrations as files: numbered SQL, whose first lines declare which builds work on the resulting schema.
 *
 *   -- phase: expand            adds only. Older builds keep working. Applied by every start.
 *   -- phase: backfill          rewrites rows in batches while the service runs (backfill.ts).
 *   -- phase: contract          removes what older builds need. Applied by `purser migrate --contract`.
 *   -- readable-from: 0.1.0     the oldest build that works on the schema after this migration
 *   -- required-from: 0.3.0     optional, for backfill and contract: builds from this one on apply it at their start
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { isNewer, isVersion } from '../../kernel/versions.ts';

export const phases = ['expand', 'backfill', 'contract'] as const;
export type Phase = (typeof phases)[number];

export interface MigrationDeclaration {
  readonly phase: Phase;
  readonly readableFrom: string;
  readonly requiredFrom?: string;
}

export interface Migration extends MigrationDeclaration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** Checksum of the SQL without its declaration, because a later release may add `required-from` to that. */
  readonly checksum: string;
}

/** The relative path is correct both from this file in `src` and from the bundle in `dist`. */
const migrationsDirectory = new URL('../../../migrations/', import.meta.url);

const fileName = /^\d{4}_\w+\.sql$/;

export async function readMigrations(directory: URL = migrationsDirectory): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => fileName.test(file)).sort();
  return Promise.all(
    files.map(async (name) => parseMigration(name, await readFile(new URL(name, directory), 'utf8'))),
  );
}

const declarationLine = /^-- (phase|readable-from|required-from): *(.*)$/;

/** Parses a migration. The errors name the file and the line to add. */
export function parseMigration(name: string, text: string): Migration {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !declarationLine.test(line));
  const declared = new Map(
    lines.slice(0, end).map((line) => {
      const [, key = '', value = ''] = declarationLine.exec(line) ?? [];
      return [key, value.trim()];
    }),
  );
  const sql = lines.slice(end).join('\n');
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { version: Number(name.slice(0, 4)), name, sql, checksum, ...parseDeclaration(name, declared) };
}

function parseDeclaration(name: string, declared: ReadonlyMap<string, string>): MigrationDeclaration {
  const phase = phases.find((known) => known === declared.get('phase'));
  if (phase === undefined) {
    throw new Error(
      `migrations/${name}: its first line must be \`-- phase: expand\`, \`backfill\` or \`contract\``,
    );
  }
  const readableFrom = declared.get('readable-from') ?? '';
  if (!isVersion(readableFrom)) {
    throw new Error(
      `migrations/${name}: declare the oldest version of Purser that works on the new schema in its first lines, such as \`-- readable-from: 0.1.0\``,
    );
  }
  const requiredFrom = declared.get('required-from');
  if (requiredFrom === undefined) {
    return { phase, readableFrom };
  }
  if (phase === 'expand' || !isVersion(requiredFrom)) {
    throw new Error(
      `migrations/${name}: required-from takes a version, and only in a backfill or contract migration`,
    );
  }
  return { phase, readableFrom, requiredFrom };
}

/** Returns true if this build does not work without the migration, so that its start must apply it. */
export function isRequired({ phase, requiredFrom }: MigrationDeclaration, build: string): boolean {
  return phase === 'expand' || (requiredFrom !== undefined && !isNewer(requiredFrom, build));
}
