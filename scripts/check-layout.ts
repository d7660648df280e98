/** House rules that no other tool checks: what a capability folder holds, and the form of the changelog. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
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

const changelog = readFileSync('CHANGELOG.md', 'utf8');
const headings = changelog.match(/^## .*$/gm) ?? [];
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
if (!headings.some((heading) => heading.startsWith(`## ${version} `) || heading === `## ${version}`)) {
  problems.push(`CHANGELOG.md: there is no entry for ${version}`);
}
for (const heading of headings) {
  if (!/^## \d+\.\d+\.\d+( \(\d{4}-\d{2}-\d{2}\)| \(unreleased\))$/.test(heading)) {
    problems.push(`CHANGELOG.md: "${heading}" is not "## <version> (<date>)" or "## <version> (unreleased)"`);
  }
}

for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
