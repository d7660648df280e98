/**
 * The published baseline: the surface, the release ledger and the list of names that are not served yet, as last recorded. It
 * contains a digest of itself, so that only the recording command can write it. The released baseline is the published one of
 * the last release. What it contains is never removed or narrowed; what was only recorded since can be, before 1.0.0.
 */
import { createHash } from 'node:crypto';
import type { Release } from '../../src/contract/releases.ts';
import { isNewer } from '../../src/kernel/versions.ts';
import { isDate } from './dates.ts';
import { historyChanges } from './history-changes.ts';
import { broken } from './promises.ts';
import { readableJson } from './readable-json.ts';
import type { Surface } from './surface.ts';
import { surfaceChanges } from './surface-changes.ts';

export interface Published {
  /** Version of the package at the time of recording. */
  readonly version: string;
  readonly surface: Surface;
  /** Settings, each with the version in which it was first recorded. */
  readonly settings: Readonly<Record<string, string>>;
  readonly notServedYet: readonly string[];
  readonly releases: readonly Release[];
}

/** The current state of the code, without the versions of settings. */
export interface Current extends Omit<Published, 'settings'> {
  readonly settings: readonly string[];
}

export function formatPublished(published: Published): string {
  return `${readableJson({ digest: digestOf(published), ...published })}\n`;
}

/** Returns undefined if the file is missing, invalid or edited by hand. */
export function readPublished(text: string): Published | undefined {
  try {
    const { digest, ...published } = JSON.parse(text) as Published & { digest: string };
    return digest === digestOf(published) ? published : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(published: Published): string {
  return createHash('sha256').update(JSON.stringify(published)).digest('hex');
}

/** Returns the baseline of the current state, given the previous baseline. */
export function publish(now: Current, before: Published | undefined): Published {
  const since = now.settings.map((name) => [name, before?.settings[name] ?? now.version]);
  return { ...now, settings: Object.fromEntries(since) };
}

const unusable = broken(
  'baseline',
  'contract/published.json is missing or was edited by hand: restore it from the history of the repository',
);

/** Returns removals since the recording or, if there are none, whether the baseline is stale. */
export function checkPublished(text: string, current: Current): string[] {
  const before = readPublished(text);
  if (before === undefined) {
    return [unusable];
  }
  const now = publish(current, before);
  const breaks = [
    ...surfaceChanges(before.surface, now.surface),
    ...missingSettings(before, now).map(removedWithoutNotice),
    ...historyChanges(before, now),
  ];
  if (breaks.length > 0 || formatPublished(now) === text) {
    return breaks;
  }
  return [
    broken(
      'baseline',
      'contract/published.json is stale: run `npm run contract:record` and commit the result',
    ),
  ];
}

/** Returns what the current state takes away from the last release. `text` is empty before the first release. */
export function checkReleased(text: string, current: Current): string[] {
  const version = current.releases.findLast(({ date }) => isDate(date))?.version;
  const released = readPublished(text);
  if (text === '' && version === undefined) {
    return [];
  }
  return released === undefined || released.version !== version
    ? [
        broken(
          'baseline',
          `contract/released.json is not the baseline of ${version ?? 'a release'}: restore it from the history of the repository`,
        ),
      ]
    : releasedChanges(released, publish(current, released));
}

function releasedChanges(released: Published, now: Published): string[] {
  return [
    ...surfaceChanges(released.surface, now.surface),
    ...missingSettings(released, now).map(removedWithoutNotice),
    ...historyChanges(released, now),
  ].map((sentence) => `Released in ${released.version}: ${sentence}`);
}

/** Returns the new text of the baseline, or the reasons for rejecting it. */
export function record(
  text: string,
  current: Current,
  releasedText = '',
): { readonly text: string } | { readonly refusals: readonly string[] } {
  const before = readPublished(text);
  if (before === undefined) {
    return { refusals: [unusable] };
  }
  const now = publish(current, before);
  const refusals = [
    ...historyChanges(before, now),
    ...missingSettings(before, now)
      .filter((name) => wasReleased(before.settings[name], before.releases))
      .map(removedWithoutNotice),
    ...(isFrozen(before, now) ? surfaceChanges(before.surface, now.surface) : []),
    ...recordingBreaksRelease(releasedText, now),
  ];
  return refusals.length > 0 ? { refusals } : { text: formatPublished(now) };
}

/** While the release is being made, the baseline is recorded before it becomes the released one. */
function recordingBreaksRelease(releasedText: string, now: Published): string[] {
  const released = readPublished(releasedText);
  return released === undefined ? [] : releasedChanges(released, now);
}

/** From this version on only additions are recorded, also if they were never released. */
const firstFrozen = '1.0.0';

/** Also considers the last recorded version, so that a downgrade does not lift the freeze. */
function isFrozen(before: Published, now: Published): boolean {
  return [before, now].some(({ version }) => !isNewer(firstFrozen, version));
}

/** The order of announcement and removal is checked in `check-ledger.ts`. */
function missingSettings(before: Published, { settings, releases }: Published): string[] {
  const removed = releases.flatMap((release) =>
    release.removed.flatMap(({ kind, surface }) => (kind === 'setting' ? [surface] : [])),
  );
  return Object.keys(before.settings).filter(
    (name) => settings[name] === undefined && !removed.includes(name),
  );
}

function removedWithoutNotice(name: string): string {
  return broken(
    'settings',
    `the setting ${name} was removed or renamed without a removal in the release ledger`,
  );
}

/** A setting that was never released can be removed without notice. */
function wasReleased(since: string | undefined, releases: readonly Release[]): boolean {
  return releases.some(
    ({ version, date }) => isDate(date) && since !== undefined && !isNewer(since, version),
  );
}
