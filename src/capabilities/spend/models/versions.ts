/** Prices have versions, each with a start. Which one holds when is decided here and nowhere else. */

export interface Version {
  readonly id: string;
  readonly effective_from: Date;
  /** At or before the start: this version never holds. */
  readonly ended_at: Date | null;
}

export const versionStatuses = ['in_force', 'scheduled', 'past', 'withdrawn'] as const;
export type VersionStatus = (typeof versionStatuses)[number];

/** `versions` stand in the order of their starts, latest first: the latest that has begun and not ended holds. */
export function holdsAt<V extends Version>(versions: readonly V[], atMs: number): V | undefined {
  return versions.find(
    ({ effective_from, ended_at }) =>
      effective_from.getTime() <= atMs && (ended_at === null || atMs < ended_at.getTime()),
  );
}

/** The version in force or, while none is, the one that comes into force next. */
export function shownAt<V extends Version>(versions: readonly V[], atMs: number): V | undefined {
  return holdsAt(versions, atMs) ?? versions.findLast((version) => isScheduled(version, atMs));
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
  return holdsAt(versions, atMs)?.id === version.id ? 'in_force' : 'past';
}

function isScheduled(version: Version, atMs: number): boolean {
  return !isWithdrawn(version) && version.effective_from.getTime() > atMs;
}
