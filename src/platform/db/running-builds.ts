/** The versions of the processes that use the database, from their heartbeats (`platform/jobs/processes.ts`). */
import { isNewer } from '../../kernel/versions.ts';
import type { Queryable } from './database.ts';

export interface RunningBuild {
  /** Null for builds before 0.1.0, which do not record their version. */
  readonly build: string | null;
  readonly processes: number;
}

/** Returns the processes whose build is older than this version. The embedded engine has a single process and no heartbeats. */
export async function olderProcesses(db: Queryable, version: string): Promise<RunningBuild[]> {
  const builds = await runningBuilds(db);
  return builds.filter(({ build }) => build === null || isNewer(version, build));
}

/** Returns the processes that use the database. */
export async function runningBuilds(db: Queryable): Promise<RunningBuild[]> {
  const [table] = await db.query<{ name: string | null }>(
    `SELECT to_regclass('processes')::text AS name`,
    [],
  );
  if (table?.name == null) {
    return [];
  }
  return db.query<RunningBuild>(
    // The column is missing until its migration has run.
    `SELECT to_jsonb(process) ->> 'build' AS build, count(*)::int4 AS processes
       FROM processes AS process WHERE seen_at > now() - interval '10 seconds'
      GROUP BY 1 ORDER BY 1`,
    [],
  );
}

export function describeBuilds(builds: readonly RunningBuild[]): string {
  return builds
    .map(({ build, processes }) => `${processes} of ${build ?? 'a version before 0.1.0'}`)
    .join(', ');
}
