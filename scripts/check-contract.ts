/** Refuses whatever breaks a promise of the contract, by name. There is no way around it: see docs/operations/releasing.md. */
import { checkProject } from './contract/project.ts';
import { readProject } from './contract/read-project.ts';

const problems = checkProject(await readProject());
for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
