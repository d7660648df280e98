/** Checks that each `/v2` operation that replaces a `/v1` operation is served next to it for long enough. */
import type { Release, Succession } from '../../src/contract/releases.ts';
import { isDate, monthsAfter } from './dates.ts';
import type { Evidence } from './evidence.ts';
import type { FrozenContract } from './frozen-contract.ts';
import { operationsOf } from './openapi-document.ts';
import { broken } from './promises.ts';

export function checkSuccessions(
  { minimum_notice: { v1_overlap_months: months } }: FrozenContract,
  releases: readonly Release[],
  { openApi }: Pick<Evidence, 'openApi'>,
): string[] {
  const operations = Object.keys(operationsOf(openApi));
  const deprecated = releases.flatMap((release) => release.deprecated);
  const known = releases.flatMap(({ successions }) => successions);
  const unnamed = operations
    .filter((name) => name.includes(' /v2/') && operations.includes(name.replace(' /v2/', ' /v1/')))
    .filter((name) => !known.some(({ successor }) => successor === name))
    .map((name) =>
      broken(
        'overlap',
        `${name} replaces ${name.replace(' /v2/', ' /v1/')}, and no succession in the release ledger says since when both are served`,
      ),
    );
  const undated = deprecated.flatMap((entry) =>
    entry.kind === 'route' &&
    entry.replacement?.includes(' /v2/') === true &&
    !known.some(
      ({ predecessor, successor }) => predecessor === entry.surface && successor === entry.replacement,
    )
      ? [
          broken(
            'overlap',
            `${entry.surface} is replaced by ${entry.replacement}, and no succession in the release ledger says since when both are served`,
          ),
        ]
      : [],
  );
  const short = releases.flatMap(({ version, date, successions }) =>
    successions.flatMap((succession) => {
      const { predecessor, successor, overlapFrom } = succession;
      const early =
        isDate(date) && overlapFrom < date
          ? [
              broken(
                'overlap',
                `${successor} is said to be served from ${overlapFrom}, before release ${version} of ${date} brought it`,
              ),
            ]
          : [];
      const entry = deprecated.find(({ kind, surface }) => kind === 'route' && surface === predecessor);
      const sunset = entry === undefined || entry.kind === 'setting' ? undefined : entry.sunset;
      return [
        ...early,
        ...checkOverlap(succession, sunset, months),
        ...checkBoth([predecessor, successor], operations),
      ];
    }),
  );
  return [...unnamed, ...undated, ...short];
}

/** A predecessor without a sunset is served permanently. */
function checkOverlap(
  { predecessor, successor, overlapFrom }: Succession,
  sunset: string | undefined,
  months: number,
): string[] {
  const earliest = monthsAfter(overlapFrom, months);
  return sunset === undefined || Date.parse(sunset) >= Date.parse(earliest)
    ? []
    : [
        broken(
          'overlap',
          `${predecessor} is sunset on ${sunset}, before it was served beside ${successor} for ${months} months (${earliest})`,
        ),
      ];
}

function checkBoth(names: readonly string[], operations: readonly string[]): string[] {
  return names
    .filter((name) => !operations.includes(name))
    .map((name) =>
      broken('overlap', `${name} stands in a succession of the release ledger and is not served`),
    );
}
