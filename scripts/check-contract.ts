/** Rejects every change that breaks a promise of the contract, without exceptions: see docs/operations/releasing.md. */
import { checkProject } from './contract/project.ts';
import { readProject } from './contract/read-project.ts';

const problems = checkProject(await readProject());
for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
