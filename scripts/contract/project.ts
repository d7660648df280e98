/** All inputs of the rules, and all rules. Pure, so that tests can change one input. */
import type { Release } from '../../src/contract/releases.ts';
import {
  checkAuthentication,
  checkBodies,
  checkEnvelope,
  checkFields,
  checkHeaders,
  checkLists,
} from './check-answers.ts';
import { checkChangelog } from './check-changelog.ts';
import { checkCodes, checkFieldErrors } from './check-codes.ts';
import { checkDeprecations } from './check-deprecations.ts';
import { checkLedger } from './check-ledger.ts';
import { checkServed } from './check-served.ts';
import { checkDeliveries, checkListing, checkSignalling } from './check-signalling.ts';
import { checkSuccessions } from './check-successions.ts';
import type { Evidence } from './evidence.ts';
import { checkPin, type FrozenContract } from './frozen-contract.ts';
import { type Current, checkPublished, checkReleased } from './published.ts';
import { surfaceOf } from './surface.ts';

export interface Project {
  readonly evidence: Evidence;
  readonly releases: readonly Release[];
  /** `YYYY-MM-DD`. */
  readonly today: string;
  readonly packageVersion: string;
  /** Contents of the files. */
  readonly contractText: string;
  readonly publishedText: string;
  /** Empty before the first release. */
  readonly releasedText: string;
  readonly notServedYet: readonly string[];
  readonly changelog: string;
}

/** Returns one sentence for each broken promise. */
export function checkProject(project: Project): string[] {
  const { evidence, releases, today, packageVersion, contractText, publishedText, changelog } = project;
  const edited = checkPin(contractText);
  if (edited.length > 0) {
    // If the file is not the pinned contract, comparing with it is pointless.
    return edited;
  }
  const contract = JSON.parse(contractText) as FrozenContract;
  const current = currentOf(project);
  return [
    ...checkCodes(contract, evidence),
    ...checkFieldErrors(contract, evidence),
    ...checkEnvelope(contract, evidence),
    ...checkAuthentication(contract, evidence),
    ...checkHeaders(contract, evidence),
    ...checkBodies(contract, evidence),
    ...checkFields(contract, evidence),
    ...checkLists(contract, evidence),
    ...checkServed(contract, evidence, project.notServedYet),
    ...checkSignalling(contract, evidence),
    ...checkListing(contract, evidence),
    ...checkDeliveries(contract, evidence),
    ...checkLedger(releases, contract.minimum_notice, today),
    ...checkDeprecations(contract, releases, evidence),
    ...checkSuccessions(contract, releases, evidence),
    ...checkChangelog(changelog, releases, packageVersion),
    ...checkReleased(project.releasedText, current),
    ...checkPublished(publishedText, current),
  ];
}

/** Returns the baseline that would be recorded now. */
export function currentOf({ evidence, releases, packageVersion, notServedYet }: Project): Current {
  return {
    version: packageVersion,
    surface: surfaceOf(evidence),
    settings: evidence.settings.map(({ name }) => name).sort(),
    notServedYet,
    releases,
  };
}
