/** Selects the version of a price that is in force at a time. Lists use the SQL form `shownNow` (queries.ts). */

export interface Version {
  readonly id: string;
  readonly effective_from: Date;
  /** End of the version. A version that ends at or before its start is never in force. */
  readonly ended_at: Date | null;
}

export const versionStatuses = ['in_force', 'scheduled', 'past', 'withdrawn'] as const;
export type VersionStatus = (typeof versionStatuses)[number];

/** Returns the latest version that has begun and not ended. `versions` are ordered by start, latest first. */
export function inForceAt<V extends Version>(versions: readonly V[], atMs: number): V | undefined {
  return versions.find(
    ({ effective_from, ended_at }) =>
      effective_from.getTime() <= atMs && (ended_at === null || atMs < ended_at.getTime()),
  );
}

/** Returns the version in force, or the next scheduled version if none is in force. */
export function shownAt<V extends Version>(versions: readonly V[], atMs: number): V | undefined {
  return inForceAt(versions, atMs) ?? versions.findLast((version) => isScheduled(version, atMs));
}

export function isWithdrawn({ effective_from, ended_at }: Version): boolean {
  return ended_at !== null && ended_at <= effective_from;
}

export function statusAt(version: Version, versions: readonly Version[], atMs: number): VersionStatus {
  if (isWithdrawn(version)) {
    return 'withdrawn';
  }
  if (isScheduled(version, atMs)) {
    return 'scheduled';
  }
  return inForceAt(versions, atMs)?.id === version.id ? 'in_force' : 'past';
}

function isScheduled(version: Version, atMs: number): boolean {
  return !isWithdrawn(version) && version.effective_from.getTime() > atMs;
}
