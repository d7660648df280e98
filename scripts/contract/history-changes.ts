/** Changes that no command may record: announcements are not withdrawn, and releases do not change. */
import type { LedgerDeprecation, Release } from '../../src/contract/releases.ts';
import { isNewer } from '../../src/kernel/versions.ts';
import { isFor } from './check-ledger.ts';
import { isDate } from './dates.ts';
import { broken } from './promises.ts';

export interface History {
  readonly version: string;
  readonly releases: readonly Release[];
  readonly notServedYet: readonly string[];
}

export function historyChanges(before: History, now: History): string[] {
  const deprecated = now.releases.flatMap((release) => release.deprecated);
  return [
    ...(isNewer(before.version, now.version)
      ? [broken('ledger', `the version went back from ${before.version} to ${now.version}`)]
      : []),
    ...tooManyAdded(before.releases, now.releases),
    ...before.releases.flatMap((release) => [
      ...(isDate(release.date) ? releaseChanges(release, now.releases) : []),
      ...release.deprecated.flatMap((old) => noticeChanges(old, deprecated.find(isFor(old)))),
    ]),
    ...now.notServedYet
      .filter((name) => !before.notServedYet.includes(name))
      .map((name) => broken('notServedYet', `${name} was added to contract/not-served-yet.json`)),
  ];
}

/** Rejects more than one new release per recording: a version that was never released has announced nothing. */
function tooManyAdded(before: readonly Release[], now: readonly Release[]): string[] {
  const added = now.filter(({ version }) => !before.some((release) => release.version === version));
  return added.length <= 1
    ? []
    : [
        broken(
          'ledger',
          `releases ${added.map(({ version }) => version).join(', ')} were added at once; each is recorded before the next`,
        ),
      ];
}

/** A sunset may still move later; it is compared separately. */
function releaseChanges(before: Release, releases: readonly Release[]): string[] {
  const now = releases.find(({ version }) => version === before.version);
  const lasting = (release: Release | undefined) =>
    JSON.stringify({
      ...release,
      deprecated: release?.deprecated.map(({ kind, surface }) => [kind, surface]),
    });
  return lasting(before) === lasting(now)
    ? []
    : [broken('ledger', `release ${before.version} of ${before.date} was changed after the fact`)];
}

function noticeChanges(before: LedgerDeprecation, now: LedgerDeprecation | undefined): string[] {
  const { surface } = before;
  if (now === undefined) {
    return [broken('sunset', `the deprecation of ${surface} was taken out of the release ledger`)];
  }
  const [old, current] = [sunsetOf(before), sunsetOf(now)];
  return [
    ...(before.announced === now.announced
      ? []
      : [
          broken('sunset', `${surface}: its announcement moved from ${before.announced} to ${now.announced}`),
        ]),
    ...(old === undefined || Date.parse(current ?? '') >= Date.parse(old)
      ? []
      : [broken('sunset', `${surface}: its sunset moved earlier, from ${old} to ${current}`)]),
  ];
}

function sunsetOf(deprecation: LedgerDeprecation): string | undefined {
  return deprecation.kind === 'setting' ? undefined : deprecation.sunset;
}
