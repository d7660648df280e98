/**
 * Records the published baseline. It never records the removal of anything that was released, nor a shorter notice period. What
 * was never released can be removed before 1.0.0.
 */
import { stillNotServed } from './contract/check-served.ts';
import type { FrozenContract } from './contract/frozen-contract.ts';
import { currentOf } from './contract/project.ts';
import { record } from './contract/published.ts';
import { readProject, writeNotServedYet, writePublished } from './contract/read-project.ts';

const project = await readProject();
const contract = JSON.parse(project.contractText) as FrozenContract;
const notServedYet = stillNotServed(contract, project.evidence, project.notServedYet);
const outcome = record(project.publishedText, currentOf({ ...project, notServedYet }), project.releasedText);
if ('text' in outcome) {
  writeNotServedYet(notServedYet);
  writePublished(outcome.text);
} else {
  for (const refusal of outcome.refusals) {
    process.stderr.write(`${refusal}\n`);
  }
  process.exitCode = 1;
}
