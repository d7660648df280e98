/** Reports dead links and pages that are too long of the documentation site. */
import { committedSite, docsProblems } from './docs-problems.ts';

for (const problem of docsProblems(committedSite())) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
