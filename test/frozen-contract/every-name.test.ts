/** Removing or changing any single name of the contract is rejected, even after `npm run contract:record`. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { FrozenContract } from '../../scripts/contract/frozen-contract.ts';
import type { Project } from '../../scripts/contract/project.ts';
import { type Draft, intactProject, refusalsOnceRecorded, type Tamper } from './intact.ts';

const contract = JSON.parse(
  readFileSync(new URL('../../contract/contract.json', import.meta.url), 'utf8'),
) as FrozenContract;

let project: Project;
beforeAll(async () => {
  project = await intactProject();
});

function refused(tamper: Tamper, refusal: string) {
  expect(refusalsOnceRecorded(project, tamper)).toContainEqual(expect.stringContaining(refusal));
}

const codes = Object.entries(contract.codes);

test.each(codes)('the code %s', (code, { statuses }) => {
  refused(({ evidence }) => delete evidence.catalog[code], `the code ${code} was removed or renamed`);
  refused(
    ({ evidence }) => (evidence.catalog[code].statuses = [418]),
    `the code ${code} has the status 418, not ${statuses.join(' or ')}`,
  );
});

const details = codes.flatMap(([code, entry]) =>
  Object.entries(entry.details).map(([field, detail]) => ({ code, field, detail })),
);
test.each(details)('details.$field of $code', ({ code, field, detail }) => {
  const of = ({ evidence }: Draft) => evidence.catalog[code].details;
  refused(
    (draft) => delete of(draft).properties[field],
    `details.${field} of ${code} was removed or renamed`,
  );
  if (detail.optional !== true) {
    refused((draft) => (of(draft).required = []), `details.${field} of ${code} may now be left out`);
  }
  for (const value of detail.values ?? []) {
    refused(
      (draft) => (of(draft).properties[field] = { type: 'string', enum: ['other'] }),
      `details.${field} of ${code} lost its value ${value}`,
    );
  }
});

test.each(Object.keys(contract.routes))('the route %s', (name) => {
  const [method = '', path = ''] = name.split(' ');
  refused(({ evidence: { openApi, answers } }) => {
    delete openApi.paths[path]?.[method.toLowerCase()];
    delete answers[name];
  }, `${name} is in the contract and is not served`);
});

test.each(contract.settings)('the setting %s', (setting) => {
  refused(({ evidence }) => {
    evidence.settings = evidence.settings.filter(({ name }: Draft) => name !== setting);
  }, `the setting ${setting} was removed or renamed`);
});

test.each(contract.authentication.codes)('the code %s of authentication', (code) => {
  refused(({ evidence: { openApi } }) => {
    const { get } = openApi.paths['/v1/runs'];
    get.responses = JSON.parse(JSON.stringify(get.responses).replaceAll(`Error_${code}"`, 'Other"'));
  }, `GET /v1/runs no longer lists the code ${code}`);
});

describe('the deprecation of', () => {
  test.each(contract.deprecations)('$surface', ({ surface, sunset, replacement }) => {
    const entryOf = ({ releases }: Draft) =>
      releases
        .flatMap(({ deprecated }: Draft) => deprecated)
        .find((entry: Draft) => entry.surface.replace(/\.\.\.$/, '') === surface.replace(/\.\.\.$/, ''));
    refused((draft) => {
      for (const release of draft.releases) {
        release.deprecated = release.deprecated.filter((entry: Draft) => entry.surface !== surface);
      }
    }, surface);
    refused((draft) => (entryOf(draft).announced = '2026-07-23'), surface);
    if (sunset !== undefined) {
      refused(
        (draft) => (entryOf(draft).sunset = 'Tue, 01 Dec 2026 00:00:00 GMT'),
        'its sunset moved earlier',
      );
    }
    if (replacement !== undefined) {
      refused((draft) => (entryOf(draft).replacement = 'GET /v1/runs'), surface);
    }
  });
});

test.each(Object.entries(contract.signalling.headers))('the header %s', (header, [form = '']) => {
  refused(
    ({ evidence }) => delete evidence.answers['GET /v1/forecast'].headers[header.toLowerCase()],
    `GET /v1/forecast answers with ${header}: "", not ${form}`,
  );
  refused(
    ({ evidence }) => delete evidence.deliveries.v1[header.toLowerCase()],
    `a v1 delivery lacks the header ${header.toLowerCase()}`,
  );
});
