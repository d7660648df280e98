/** A house rule that no other tool checks: what a capability folder holds. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const problems: string[] = [];
const root = 'src/capabilities';

for (const name of readdirSync(root)) {
  const folder = join(root, name);
  if (!/^[a-z]+(-[a-z]+)*$/.test(name)) {
    problems.push(`${folder}: a capability's name is lowercase words with hyphens`);
  }
  for (const wanted of ['README.md', 'index.ts']) {
    if (!existsSync(join(folder, wanted))) {
      problems.push(`${folder}: ${wanted} is missing`);
    }
  }
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    if (statSync(path).isDirectory()) {
      problems.push(`${path}: a capability is one folder, without folders inside`);
    } else if (!/^([a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?|README\.md)$/.test(file)) {
      problems.push(`${path}: file names are lowercase words with hyphens`);
    }
  }
}

for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
