/** The release ledger, the registry, the settings and the changelog: every notice is given, kept and documented. */
import { beforeAll, describe, expect, test } from 'vitest';
import { checkProject, type Project } from '../../scripts/contract/project.ts';
import { type Draft, intactProject, published, refusals, shared, type Tamper, tampered } from './intact.ts';

let project: Project;
beforeAll(async () => {
  project = await intactProject();
});

type Case = readonly [title: string, tamper: Tamper, refusal: string];

function refuses(cases: readonly Case[], subject: () => Project = () => project) {
  test.each(cases)('%s', (_title, tamper, refusal) => {
    expect(refusals(subject(), tamper)).toContainEqual(expect.stringContaining(refusal));
  });
}

const entryOf = (draft: Draft, surface: string) =>
  draft.releases[0].deprecated.find((entry: Draft) => entry.surface === surface);

function release(version: string, date: string, more: object = {}): Draft {
  return { version, date, deprecated: [], removed: [], successions: [], operatorActions: [], ...more };
}

/** Returns a project whose first release was published and followed by these versions; the last one is in progress. */
function later(...versions: string[]): Project {
  return published(
    tampered(project, (draft) => {
      draft.releases[0].date = '2026-12-01';
      draft.changelog = draft.changelog.replace('(unreleased)', '(2026-12-01)');
      for (const [index, version] of versions.entries()) {
        const date = index === versions.length - 1 ? 'unreleased' : `2027-0${index + 1}-01`;
        draft.releases.push(release(version, date));
        draft.changelog = draft.changelog.replace('\n## ', `\n## ${version} (${date})\n\nMore.\n\n## `);
      }
      draft.packageVersion = versions.at(-1) ?? '0.1.0';
      draft.today = '2027-12-31';
    }),
  );
}

/** Removes the setting in the last release, as a maintainer would. */
function removeSetting(draft: Draft): void {
  const setting = 'SVC_READ_LIMIT_PER_MINUTE';
  const last = draft.releases.at(-1);
  last.removed.push({ kind: 'setting', surface: setting });
  last.operatorActions.push(`Unset \`${setting}\`.`);
  draft.evidence.settings = draft.evidence.settings.filter(({ name }: Draft) => name !== setting);
  draft.changelog = draft.changelog.replace(
    'More.',
    `- Removed: \`${setting}\`. Set \`read_rpm\` per org.\n- Operators: Unset \`${setting}\`.`,
  );
}

test('releases that were never made give no notice', () => {
  const found = refusals(later('0.2.0'), (draft) => {
    draft.releases[1].date = '2027-01-01';
    draft.releases.push(release('0.3.0', '2027-02-01'), release('0.4.0', 'unreleased'));
  });
  expect(found).toContainEqual(
    expect.stringContaining('releases 0.3.0, 0.4.0 were added at once; each is recorded before the next'),
  );
});

test('a release of tomorrow is refused', () => {
  const found = refusals(later('0.2.0'), (draft) => (draft.releases[1].date = '2028-01-01'));
  expect(found).toContainEqual(
    expect.stringContaining('release 0.2.0 is dated 2028-01-01, which has not come yet'),
  );
});

test('a setting cannot leave by the shorter notice of something else', () => {
  const found = refusals(later('0.2.0'), (draft) => {
    draft.releases[1].removed.push({ kind: 'delivery', surface: 'SVC_BULK_MAX_RUNS' });
    draft.evidence.settings = draft.evidence.settings.filter(
      ({ name }: Draft) => name !== 'SVC_BULK_MAX_RUNS',
    );
  });
  expect(found).toContainEqual(
    expect.stringContaining('release 0.2.0 lists the setting SVC_BULK_MAX_RUNS as a delivery'),
  );
  expect(found).toContainEqual(
    expect.stringContaining(
      'SVC_BULK_MAX_RUNS was removed or renamed without a removal in the release ledger',
    ),
  );
});

describe('the order of releases', () => {
  refuses(
    [
      ['a version is none', (d) => (d.releases[1].version = '0.2'), '"0.2" is not a version'],
      [
        'a version is not newer than the one before',
        (d) => (d.releases[1].version = '0.1.0'),
        'release 0.1.0 stands after 0.1.0 and is not newer. Promise: The release ledger is history',
      ],
      [
        'a release in the middle has no date',
        (d) => (d.releases[0].date = 'unreleased'),
        'release 0.1.0 has neither a date nor is the one being made',
      ],
      [
        'a date is none',
        (d) => (d.releases[1].date = '2027-02-31x'),
        'release 0.2.0 has neither a date nor is the one being made',
      ],
      [
        'a release is dated before the one it follows',
        (d) => (d.releases[1].date = '2026-11-30'),
        'release 0.2.0 is dated before 0.1.0',
      ],
      [
        'the package is at another version',
        (d) => (d.packageVersion = '0.3.0'),
        'package.json is at 0.3.0, the release ledger at 0.2.0',
      ],
      [
        'the version goes back',
        (d) => (d.packageVersion = '0.0.9'),
        'the version went back from 0.2.0 to 0.0.9. Promise: The release ledger is history',
      ],
      [
        'what was released is changed after the fact',
        (d) => d.releases[0].operatorActions.push('Pay more.'),
        'release 0.1.0 of 2026-12-01 was changed after the fact',
      ],
      [
        'a release is forgotten',
        (d) => d.releases.shift(),
        'release 0.1.0 of 2026-12-01 was changed after the fact',
      ],
    ],
    shared(() => later('0.2.0')),
  );
});

describe('announcements', () => {
  const forecast = 'GET /v1/forecast';
  const delivery = 'X-Svc-Signature: v1=...';
  refuses([
    [
      'a date is none',
      (d) => (entryOf(d, forecast).announced = 'soon'),
      'GET /v1/forecast: "soon" is not a date',
    ],
    [
      'it comes after its release',
      (d) => (d.releases[0].date = '2026-07-21'),
      'GET /v1/forecast is announced on 2026-07-22, after release 0.1.0 of 2026-07-21. Promise: Notice periods',
    ],
    [
      'a sunset is no HTTP date',
      (d) => (entryOf(d, forecast).sunset = '2036-12-31'),
      'GET /v1/forecast: the sunset "2036-12-31" is not an IMF-fixdate',
    ],
    [
      'a route is given less than 12 months',
      (d) => (entryOf(d, forecast).sunset = 'Wed, 21 Jul 2027 23:59:59 GMT'),
      'GET /v1/forecast: its sunset Wed, 21 Jul 2027 23:59:59 GMT gives less notice than until 2027-07-22',
    ],
    [
      'a delivery ends as it is announced',
      (d) => (entryOf(d, delivery).sunset = 'Tue, 21 Jul 2026 00:00:00 GMT'),
      'X-Svc-Signature: v1=...: its sunset Tue, 21 Jul 2026 00:00:00 GMT gives less notice than until 2026-07-22',
    ],
    [
      'something is deprecated twice',
      (d) => d.releases[0].deprecated.push(entryOf(d, forecast)),
      'GET /v1/forecast is deprecated twice in the release ledger',
    ],
    [
      'operators are not told of a setting',
      (d) => d.releases[0].operatorActions.pop(),
      'release 0.1.0 tells operators nothing about the setting SVC_READ_LIMIT_PER_MINUTE. Promise: Changes of settings',
    ],
    [
      'a sunset moves earlier than the contract has it',
      (d) => (entryOf(d, forecast).sunset = 'Tue, 30 Dec 2036 23:59:59 GMT'),
      'GET /v1/forecast: its sunset moved earlier, from Wed, 31 Dec 2036 23:59:59 GMT to Tue, 30 Dec 2036 23:59:59 GMT. Promise: Notice periods are minimums and are never shortened',
    ],
    [
      'an announcement is not that of the contract',
      (d) => (entryOf(d, forecast).announced = '2026-08-01'),
      'GET /v1/forecast is announced 2026-08-01, not 2026-07-22. Promise: Every active deprecation',
    ],
    [
      'a replacement is not that of the contract',
      (d) => (entryOf(d, forecast).replacement = 'GET /v1/runs'),
      'GET /v1/forecast is replaced by GET /v1/runs, not by GET /v1/capacity/forecasts',
    ],
    [
      'a deprecation of the contract is missing',
      (d) => d.releases[0].deprecated.splice(d.releases[0].deprecated.indexOf(entryOf(d, delivery)), 1),
      'X-Svc-Signature: v1=... is deprecated by the contract and not in the release ledger',
    ],
  ]);

  test('a sunset may move later, everywhere at once', () => {
    const [old, now] = ['Wed, 31 Dec 2036 23:59:59 GMT', 'Thu, 31 Dec 2037 23:59:59 GMT'];
    const moved = refusals(project, (d) => {
      entryOf(d, forecast).sunset = now;
      d.evidence.registry.find((entry: Draft) => entry.route === '/v1/forecast').sunset = now;
      d.changelog = d.changelog.replace(old, now);
      const { answers } = d.evidence;
      if (answers[forecast] !== undefined) {
        answers[forecast].headers.sunset = now;
      }
      const listing = answers['GET /v1/meta/deprecations'];
      listing.body = listing.body.replace(old, now);
    });
    expect(moved).toEqual([expect.stringContaining('contract/published.json is stale')]);
  });

  const announced = shared(() =>
    published(
      tampered(project, (d) =>
        d.releases[0].deprecated.push({
          kind: 'delivery',
          surface: 'X-Old',
          announced: '2026-10-01',
          sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
        }),
      ),
    ),
  );
  refuses(
    [
      [
        'a sunset moves earlier than it was published',
        (d) => (entryOf(d, 'X-Old').sunset = 'Fri, 31 Dec 2027 00:00:00 GMT'),
        'X-Old: its sunset moved earlier, from Sat, 01 Jan 2028 00:00:00 GMT to Fri, 31 Dec 2027 00:00:00 GMT',
      ],
      [
        'an announcement moves',
        (d) => (entryOf(d, 'X-Old').announced = '2026-11-01'),
        'X-Old: its announcement moved from 2026-10-01 to 2026-11-01',
      ],
      [
        'an announcement is taken back',
        (d) => d.releases[0].deprecated.pop(),
        'the deprecation of X-Old was taken out of the release ledger',
      ],
    ],
    announced,
  );
});

describe('removals', () => {
  test('a setting goes two releases after its announcement', () => {
    const removed = refusals(later('0.2.0', '0.3.0'), removeSetting);
    // The contract itself names this setting, so its removal requires a new contract. Nothing else prevents the
    // removal.
    expect(removed).toEqual([
      expect.stringContaining('the setting SVC_READ_LIMIT_PER_MINUTE was removed or renamed'),
      expect.stringContaining('contract/published.json is stale'),
    ]);
  });

  test.each([
    ['0.2.0', ['0.2.0']],
    ['0.1.2', ['0.1.1', '0.1.2']],
  ])('it does not go in %s: patches are no notice', (_version, versions) => {
    expect(refusals(later(...versions), removeSetting)).toContainEqual(
      expect.stringMatching(
        /removes the setting SVC_READ_LIMIT_PER_MINUTE [01] release after its announcement in 0\.1\.0; the earliest is N\+2\. Promise: A setting/,
      ),
    );
  });

  const removing =
    (kind: string, surface: string, more: Tamper = () => undefined): Tamper =>
    (draft) => {
      draft.releases.at(-1).removed.push({ kind, surface });
      more(draft);
    };

  refuses(
    [
      [
        'a route leaves /v1',
        removing('route', 'GET /v1/forecast'),
        'release 0.3.0 removes GET /v1/forecast. Promise: A path, operation, field, enum value or parameter of /v1 is never removed',
      ],
      [
        'something goes that was never announced',
        removing('setting', 'SVC_HOST'),
        'release 0.3.0 removes SVC_HOST, which no release before it deprecated',
      ],
      [
        'something goes in the release that announces it',
        removing('delivery', 'X-Old', (d) =>
          d.releases.at(-1).deprecated.push({
            kind: 'delivery',
            surface: 'X-Old',
            announced: '2026-10-01',
            sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
          }),
        ),
        'release 0.3.0 removes X-Old, which no release before it deprecated',
      ],
      [
        'a delivery goes before its sunset',
        removing('delivery', 'X-Svc-Signature: v1=...', (d) => (d.today = '2027-12-31')),
        'release 0.3.0 removes X-Svc-Signature: v1=... before its sunset Fri, 31 Dec 2027 23:59:59 GMT',
      ],
      [
        'a delivery goes in a release dated before its sunset, however late it is now',
        removing('delivery', 'X-Svc-Signature: v1=...', (d) => {
          d.today = '2028-06-01';
          d.releases.at(-1).date = '2027-11-01';
        }),
        'release 0.3.0 removes X-Svc-Signature: v1=... before its sunset',
      ],
      [
        'something goes twice',
        removing('setting', 'SVC_HOST', (d) =>
          d.releases[1].removed.push({ kind: 'setting', surface: 'SVC_HOST' }),
        ),
        'SVC_HOST is removed twice in the release ledger',
      ],
      [
        'a setting is removed and still read',
        removing('setting', 'SVC_READ_LIMIT_PER_MINUTE'),
        'the setting SVC_READ_LIMIT_PER_MINUTE is removed by the release ledger and still read',
      ],
      [
        'operators are not told of a removal',
        removing('setting', 'SVC_READ_LIMIT_PER_MINUTE'),
        'release 0.3.0 tells operators nothing about the setting SVC_READ_LIMIT_PER_MINUTE',
      ],
      [
        'a setting goes without a word',
        ({ evidence }) =>
          (evidence.settings = evidence.settings.filter(({ name }: Draft) => name !== 'SVC_HOST')),
        'the setting SVC_HOST was removed or renamed without a removal in the release ledger. Promise: A setting',
      ],
      [
        'a deprecated setting goes without a removal',
        ({ evidence }) =>
          (evidence.settings = evidence.settings.filter(
            ({ name }: Draft) => name !== 'SVC_READ_LIMIT_PER_MINUTE',
          )),
        'the setting SVC_READ_LIMIT_PER_MINUTE is gone, and no release in the ledger removes it',
      ],
    ],
    shared(() => later('0.2.0', '0.3.0')),
  );

  test('a delivery goes after its sunset', () => {
    const removed = refusals(
      later('0.2.0', '0.3.0'),
      removing('delivery', 'X-Svc-Signature: v1=...', (d) => (d.today = '2028-01-01')),
    );
    expect(removed.filter((sentence) => !/CHANGELOG|stale/.test(sentence))).toEqual([]);
  });
});

describe('the registry and the settings', () => {
  const registered = (draft: Draft) =>
    draft.evidence.registry.find((entry: Draft) => entry.route === '/v1/forecast');
  const setting = (draft: Draft) =>
    draft.evidence.settings.find(({ name }: Draft) => name === 'SVC_READ_LIMIT_PER_MINUTE');
  refuses([
    [
      'a route is flagged that the ledger does not know',
      ({ evidence }) => evidence.registry.push({ route: '/v1/runs', since: '2026-07-22', sunset: '' }),
      '/v1/runs is in the registry and not in the release ledger',
    ],
    [
      'a route is no longer flagged',
      ({ evidence }) => evidence.registry.pop(),
      'is deprecated by the release ledger and not in the registry. Promise: Every response to a deprecated route',
    ],
    [
      'its date is another',
      (d) => (registered(d).since = '2026-07-23'),
      'GET /v1/forecast: since is 2026-07-23 in the registry and 2026-07-22 in the release ledger',
    ],
    [
      'its sunset is another',
      (d) => (registered(d).sunset = 'Thu, 31 Dec 2037 23:59:59 GMT'),
      'GET /v1/forecast: sunset is Thu, 31 Dec 2037 23:59:59 GMT in the registry',
    ],
    [
      'its replacement is another',
      (d) => delete registered(d).replacement,
      'GET /v1/forecast: replacement is undefined in the registry and /v1/capacity/forecasts in the release ledger',
    ],
    [
      'deliveries tell of another sunset',
      ({ evidence }) => (evidence.orgSignedDelivery.sunset = 'Sat, 31 Dec 2028 23:59:59 GMT'),
      'X-Svc-Signature: v1=...: deliveries say 2026-07-22 and Sat, 31 Dec 2028 23:59:59 GMT, the release ledger 2026-07-22 and Fri, 31 Dec 2027 23:59:59 GMT',
    ],
    [
      'a setting does not say that it is deprecated',
      (d) => delete setting(d).deprecated,
      'the setting SVC_READ_LIMIT_PER_MINUTE does not say that it is deprecated since 2026-07-22. Promise: Changes of settings',
    ],
    [
      'a setting says so and the ledger does not',
      ({ evidence }) => (evidence.settings[0].deprecated = 'is deprecated since 2026-11-01'),
      'is deprecated and not in the release ledger',
    ],
  ]);
});

describe('successions', () => {
  const serve = (draft: Draft, version: string) => {
    draft.evidence.openApi.paths[`/${version}/runs`] = { get: draft.evidence.openApi.paths['/v1/runs'].get };
  };
  const succession = { predecessor: 'GET /v1/runs', successor: 'GET /v2/runs', overlapFrom: '2027-03-01' };
  const sunsetting =
    (sunset: string): Tamper =>
    (d) => {
      serve(d, 'v2');
      d.releases[0].successions.push(succession);
      d.releases[0].deprecated.push({
        kind: 'route',
        surface: 'GET /v1/runs',
        announced: '2026-11-01',
        sunset,
        replacement: 'GET /v2/runs',
      });
    };

  test('12 months side by side are enough', () => {
    const served = refusals(project, sunsetting('Wed, 01 Mar 2028 00:00:00 GMT'));
    expect(served.filter((sentence) => sentence.includes('12 months'))).toEqual([]);
  });

  refuses([
    [
      'a day less is not',
      sunsetting('Tue, 29 Feb 2028 00:00:00 GMT'),
      'GET /v1/runs is sunset on Tue, 29 Feb 2028 00:00:00 GMT, before it was served beside GET /v2/runs for 12 months (2028-03-01). Promise: A breaking replacement ships under /v2, and both are served for at least 12 months',
    ],
    [
      'a /v2 shape does not say since when',
      (d) => serve(d, 'v2'),
      'GET /v2/runs replaces GET /v1/runs, and no succession in the release ledger says since when both are served',
    ],
    [
      'a deprecation names a /v2 shape that the ledger does not',
      (d) => {
        sunsetting('Wed, 01 Mar 2028 00:00:00 GMT')(d);
        d.releases[0].successions.pop();
      },
      'GET /v1/runs is replaced by GET /v2/runs, and no succession in the release ledger says since when both are served',
    ],
    [
      'the overlap is said to begin before the release that brings it',
      (d) => {
        sunsetting('Wed, 01 Mar 2028 00:00:00 GMT')(d);
        d.releases[0].date = '2027-03-02';
      },
      'GET /v2/runs is said to be served from 2027-03-01, before release 0.1.0 of 2027-03-02 brought it',
    ],
    [
      'the old shape is no longer served',
      (d) => {
        sunsetting('Wed, 01 Mar 2028 00:00:00 GMT')(d);
        delete d.evidence.openApi.paths['/v1/runs'];
      },
      'GET /v1/runs stands in a succession of the release ledger and is not served',
    ],
  ]);
});

describe('the changelog', () => {
  const text =
    (change: (changelog: string) => string): Tamper =>
    (draft) => {
      draft.changelog = change(draft.changelog);
    };
  refuses([
    [
      'a deprecation is missing',
      text((changelog) =>
        changelog.replace('- Deprecated since 2026-07-22: `GET /v1/forecast`', '- `GET /v1/forecast`'),
      ),
      'CHANGELOG.md, 0.1.0: the deprecation of GET /v1/forecast since 2026-07-22 is missing. Promise: Every deprecation is recorded in the changelog at announcement',
    ],
    [
      'a sunset is missing',
      text((changelog) => changelog.replace('Wed, 31 Dec 2036 23:59:59 GMT', 'some day')),
      'the deprecation of GET /v1/forecast does not say its sunset Wed, 31 Dec 2036 23:59:59 GMT',
    ],
    [
      'an operator action is missing',
      text((changelog) => changelog.replace('- Operators: Give', '- Give')),
      'CHANGELOG.md, 0.1.0: the operator action "Give each org',
    ],
    [
      'it announces what the ledger does not',
      text((changelog) => changelog.replace('\n- ', '\n- Deprecated since 2026-11-01: `GET /v1/runs`.\n- ')),
      'CHANGELOG.md, 0.1.0: "Deprecated since 2026-11-01: `GET /v1/runs`." is not in the release ledger',
    ],
    [
      'a release is missing',
      text((changelog) => changelog.replace('## 0.1.0 (unreleased)', '## Next')),
      'CHANGELOG.md: there is no section "## 0.1.0 (unreleased)"',
    ],
    [
      'a section is no release',
      text((changelog) => `${changelog}\n## 0.0.1 (2025-01-01)\n`),
      'CHANGELOG.md: "## 0.0.1 (2025-01-01)" is no release of the ledger',
    ],
  ]);

  test('a removal is missing', () => {
    const removed = refusals(later('0.2.0', '0.3.0'), (draft) => {
      removeSetting(draft);
      draft.changelog = draft.changelog.replace('- Removed:', '- Gone:');
    });
    expect(removed).toContainEqual(
      expect.stringContaining('CHANGELOG.md, 0.3.0: the removal of SVC_READ_LIMIT_PER_MINUTE is missing'),
    );
  });

  test('the sections are out of order', () => {
    const swapped = refusals(later('0.2.0'), (draft) => {
      const [head, second, first] = draft.changelog.split(/^(?=## )/m);
      draft.changelog = `${head}${first}\n${second}`;
    });
    expect(swapped).toEqual([
      expect.stringContaining('its sections are not in the order of the ledger, newest first'),
    ]);
  });

  test('several releases, told in order, are fine', () => {
    expect(checkProject(later('0.2.0', '0.3.0'))).toEqual([]);
  });
});
