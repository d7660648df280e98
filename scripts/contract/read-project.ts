/** Reads the project from the working tree. */
import { readFileSync, writeFileSync } from 'node:fs';
import { version } from '../../src/config/version.ts';
import { releases } from '../../src/contract/releases.ts';
import { dereferenced } from '../../src/platform/http/routes/openapi-references.ts';
import { gatherEvidence } from './evidence.ts';
import type { OpenApi } from './openapi-document.ts';
import type { Project } from './project.ts';

export async function readProject(): Promise<Project> {
  return {
    evidence: await gatherEvidence(dereferenced(JSON.parse(read('docs/generated/openapi.json')) as OpenApi)),
    releases,
    today: new Date().toISOString().slice(0, 10),
    packageVersion: version,
    contractText: read('contract/contract.json'),
    publishedText: read(publishedFile),
    releasedText: read('contract/released.json'),
    notServedYet: JSON.parse(read(notServedYetFile) || '[]') as string[],
    changelog: read('CHANGELOG.md'),
  };
}

const publishedFile = 'contract/published.json';
const notServedYetFile = 'contract/not-served-yet.json';

export function writeNotServedYet(names: readonly string[]): void {
  writeFileSync(at(notServedYetFile), `${JSON.stringify(names, null, 2)}\n`);
}

export function writePublished(text: string): void {
  writeFileSync(at(publishedFile), text);
}

/** A missing file is read as empty, which the rule for that file rejects. */
function read(path: string): string {
  try {
    return readFileSync(at(path), 'utf8');
  } catch {
    return '';
  }
}

function at(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}
