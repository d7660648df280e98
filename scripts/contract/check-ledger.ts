/** Checks the release ledger itself: its order, and the notice period of each deprecation and removal. */
import type {
  DatedDeprecation,
  LedgerDeprecation,
  Release,
  RemovedSurface,
} from '../../src/contract/releases.ts';
import { isNewer } from '../../src/kernel/versions.ts';
import { isDate, isHttpDate, monthsAfter } from './dates.ts';
import type { FrozenContract } from './frozen-contract.ts';
import { broken } from './promises.ts';

type Notice = FrozenContract['minimum_notice'];

export function checkLedger(releases: readonly Release[], notice: Notice, today: string): string[] {
  return [
    ...checkOrder(releases, today),
    ...checkKinds(releases),
    ...checkAnnouncements(releases, notice),
    ...releases.flatMap((release, index) =>
      release.removed.flatMap((removal) => checkRemoval(removal, index, releases, notice, today)),
    ),
    ...checkOnce(releases),
    ...checkOperatorActions(releases),
  ];
}

/** Rejects settings that are listed as another kind, which would have another notice period. */
function checkKinds(releases: readonly Release[]): string[] {
  return releases.flatMap(({ version, deprecated, removed }) =>
    [...deprecated, ...removed]
      .filter(({ kind, surface }) => kind !== 'setting' && /^SVC_/.test(surface))
      .map(({ kind, surface }) =>
        broken('settings', `release ${version} lists the setting ${surface} as a ${kind}`),
      ),
  );
}

function checkOrder(releases: readonly Release[], today: string): string[] {
  return releases.flatMap(({ version, date }, index) => {
    const previous = releases[index - 1];
    return [
      ...(/^\d+\.\d+\.\d+$/.test(version) ? [] : [broken('ledger', `"${version}" is not a version`)]),
      ...(previous === undefined || isNewer(version, previous.version)
        ? []
        : [broken('ledger', `release ${version} stands after ${previous.version} and is not newer`)]),
      ...(isDate(date) || (date === 'unreleased' && index === releases.length - 1)
        ? []
        : [broken('ledger', `release ${version} has neither a date nor is the one being made`)]),
      ...(!isDate(date) || date <= today
        ? []
        : [broken('ledger', `release ${version} is dated ${date}, which has not come yet`)]),
      ...(previous === undefined || !isDate(date) || previous.date <= date
        ? []
        : [broken('ledger', `release ${version} is dated before ${previous.version}`)]),
    ];
  });
}

function checkAnnouncements(releases: readonly Release[], { v1_overlap_months: months }: Notice): string[] {
  return releases.flatMap(({ version, date, deprecated }) =>
    deprecated.flatMap((deprecation) => {
      const { surface, announced } = deprecation;
      if (!isDate(announced)) {
        return [broken('ledger', `${surface}: "${announced}" is not a date`)];
      }
      const late =
        isDate(date) && announced > date
          ? [broken('sunset', `${surface} is announced on ${announced}, after release ${version} of ${date}`)]
          : [];
      return [...late, ...(deprecation.kind === 'setting' ? [] : checkSunset(deprecation, months))];
    }),
  );
}

function checkSunset({ kind, surface, announced, sunset }: DatedDeprecation, months: number): string[] {
  if (!isHttpDate(sunset)) {
    return [broken('sunset', `${surface}: the sunset "${sunset}" is not an IMF-fixdate`)];
  }
  const earliest = kind === 'route' ? monthsAfter(announced, months) : announced;
  return Date.parse(sunset) > Date.parse(earliest)
    ? []
    : [broken('sunset', `${surface}: its sunset ${sunset} gives less notice than until ${earliest}`)];
}

function checkRemoval(
  { kind, surface }: RemovedSurface,
  index: number,
  releases: readonly Release[],
  { setting_releases: wanted }: Notice,
  today: string,
): string[] {
  const { version, date } = releases[index] as Release;
  const announcedIn = releases.findIndex(({ deprecated }) => deprecated.some(isFor({ kind, surface })));
  const announcement = releases[announcedIn]?.deprecated.find(isFor({ kind, surface }));
  if (kind === 'route' && surface.includes(' /v1/')) {
    return [broken('removal', `release ${version} removes ${surface}`)];
  }
  if (announcement === undefined || announcedIn >= index) {
    return [broken('sunset', `release ${version} removes ${surface}, which no release before it deprecated`)];
  }
  if (announcement.kind === 'setting') {
    const passed = releasesBetween(releases, announcedIn, index);
    return passed >= wanted
      ? []
      : [
          broken(
            'settings',
            `release ${version} removes the setting ${surface} ${passed} release after its announcement in ${releases[announcedIn]?.version}; the earliest is N+${wanted}`,
          ),
        ];
  }
  const day = isDate(date) ? date : today;
  return Date.parse(day) > Date.parse(announcement.sunset)
    ? []
    : [broken('sunset', `release ${version} removes ${surface} before its sunset ${announcement.sunset}`)];
}

/** Patch releases announce nothing, so they do not count. */
function releasesBetween(releases: readonly Release[], from: number, to: number): number {
  const minors = releases.slice(from, to + 1).map(({ version }) => version.replace(/\.\d+$/, ''));
  return new Set(minors).size - 1;
}

function checkOnce(releases: readonly Release[]): string[] {
  const twice = (names: readonly string[]) => names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...twice(releases.flatMap(({ deprecated }) => deprecated.map(({ surface }) => surface))).map((surface) =>
      broken('ledger', `${surface} is deprecated twice in the release ledger`),
    ),
    ...twice(releases.flatMap(({ removed }) => removed.map(({ surface }) => surface))).map((surface) =>
      broken('ledger', `${surface} is removed twice in the release ledger`),
    ),
  ];
}

function checkOperatorActions(releases: readonly Release[]): string[] {
  return releases.flatMap(({ version, deprecated, removed, operatorActions }) =>
    [...deprecated, ...removed]
      .filter(
        ({ kind, surface }) => kind === 'setting' && !operatorActions.some((text) => text.includes(surface)),
      )
      .map(({ surface }) =>
        broken('operators', `release ${version} tells operators nothing about the setting ${surface}`),
      ),
  );
}

export function isFor({ kind, surface }: RemovedSurface): (deprecation: LedgerDeprecation) => boolean {
  return (deprecation) => deprecation.kind === kind && deprecation.surface === surface;
}

/** Returns deprecations that are not removed. */
export function standingDeprecations(releases: readonly Release[]): LedgerDeprecation[] {
  const removed = new Set(releases.flatMap(({ removed }) => removed.map(({ surface }) => surface)));
  return releases.flatMap(({ deprecated }) => deprecated).filter(({ surface }) => !removed.has(surface));
}
