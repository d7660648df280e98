/** Checks that the contract, the release ledger, the registry of routes and the settings have the same active deprecations. */
import type { LedgerDeprecation, Release } from '../../src/contract/releases.ts';
import { isFor, standingDeprecations } from './check-ledger.ts';
import type { Evidence } from './evidence.ts';
import type { FrozenContract, FrozenDeprecation } from './frozen-contract.ts';
import { broken } from './promises.ts';

export function checkDeprecations(
  contract: FrozenContract,
  releases: readonly Release[],
  { registry, settings, orgSignedDelivery }: Pick<Evidence, 'registry' | 'settings' | 'orgSignedDelivery'>,
): string[] {
  return [
    ...contract.deprecations.flatMap((wanted) => checkActive(wanted, releases)),
    ...checkRegistry(releases, registry),
    ...checkDelivery(contract, releases, orgSignedDelivery),
    ...checkSettings(releases, settings),
  ];
}

/** A sunset may be later than the contract's; nothing else may differ. */
function checkActive(wanted: FrozenDeprecation, releases: readonly Release[]): string[] {
  const { surface } = wanted;
  const found = releases.flatMap(({ deprecated }) => deprecated).find(isFor(wanted));
  if (found === undefined) {
    return [broken('active', `${surface} is deprecated by the contract and not in the release ledger`)];
  }
  const dated = found.kind === 'setting' ? undefined : found;
  return [
    ...(found.announced === wanted.announced
      ? []
      : [broken('active', `${surface} is announced ${found.announced}, not ${wanted.announced}`)]),
    ...(wanted.sunset === undefined || Date.parse(dated?.sunset ?? '') >= Date.parse(wanted.sunset)
      ? []
      : [
          broken('sunset', `${surface}: its sunset moved earlier, from ${wanted.sunset} to ${dated?.sunset}`),
        ]),
    ...(dated?.replacement === wanted.replacement
      ? []
      : [broken('active', `${surface} is replaced by ${dated?.replacement}, not by ${wanted.replacement}`)]),
  ];
}

/** The registry has paths without methods, since responses are matched by path. */
function checkRegistry(releases: readonly Release[], registry: Evidence['registry']): string[] {
  const routes = standingDeprecations(releases).flatMap((entry) => (entry.kind === 'route' ? [entry] : []));
  const unknown = registry
    .filter(({ route }) => !routes.some(({ surface }) => pathOf(surface) === route))
    .map(({ route }) => broken('ledger', `${route} is in the registry and not in the release ledger`));
  const different = routes.flatMap(({ surface, announced, sunset, replacement }) => {
    const entry = registry.find(({ route }) => route === pathOf(surface));
    if (entry === undefined) {
      return [broken('signalling', `${surface} is deprecated by the release ledger and not in the registry`)];
    }
    const pairs = [
      ['since', announced, entry.since],
      ['sunset', sunset, entry.sunset],
      ['replacement', replacement && pathOf(replacement), entry.replacement],
    ] as const;
    return pairs
      .filter(([, ledger, registered]) => ledger !== registered)
      .map(([field, ledger, registered]) =>
        broken(
          'signalling',
          `${surface}: ${field} is ${registered} in the registry and ${ledger} in the release ledger`,
        ),
      );
  });
  return [...unknown, ...different];
}

/** The contract deprecates one form of deliveries, for which the code has one announcement. */
function checkDelivery(
  { deprecations }: FrozenContract,
  releases: readonly Release[],
  { since, sunset }: Evidence['orgSignedDelivery'],
): string[] {
  return standingDeprecations(releases).flatMap((entry) =>
    entry.kind !== 'delivery' ||
    !deprecations.some((wanted) => isFor(wanted)(entry)) ||
    (entry.announced === since && entry.sunset === sunset)
      ? []
      : [
          broken(
            'deliveries',
            `${entry.surface}: deliveries say ${since} and ${sunset}, the release ledger ${entry.announced} and ${entry.sunset}`,
          ),
        ],
  );
}

function pathOf(operation: string): string {
  return operation.slice(operation.indexOf(' ') + 1);
}

function checkSettings(releases: readonly Release[], settings: Evidence['settings']): string[] {
  const standing = standingDeprecations(releases).filter(({ kind }) => kind === 'setting');
  const removed = releases.flatMap(({ removed }) => removed).filter(({ kind }) => kind === 'setting');
  return [
    ...standing.flatMap((entry) => checkNotice(entry, settings)),
    ...settings
      .filter(
        ({ name, deprecated }) =>
          deprecated !== undefined && !standing.some(({ surface }) => surface === name),
      )
      .map(({ name }) =>
        broken('operators', `the setting ${name} is deprecated and not in the release ledger`),
      ),
    ...removed
      .filter(({ surface }) => settings.some(({ name }) => name === surface))
      .map(({ surface }) =>
        broken('ledger', `the setting ${surface} is removed by the release ledger and still read`),
      ),
  ];
}

function checkNotice({ surface, announced }: LedgerDeprecation, settings: Evidence['settings']): string[] {
  const setting = settings.find(({ name }) => name === surface);
  if (setting === undefined) {
    return [broken('settings', `the setting ${surface} is gone, and no release in the ledger removes it`)];
  }
  return setting.deprecated?.includes(announced) === true
    ? []
    : [broken('operators', `the setting ${surface} does not say that it is deprecated since ${announced}`)];
}
