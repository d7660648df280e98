/**
 * Writes the generated documents, or reports stale ones with `--check`. They are committed, so that changes of the API are
 * visible in the diff.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { editorSchema } from '../src/capabilities/integration/configuration/index.ts';
import { errorsMarkdown, operationGroups, schemaNames } from '../src/capabilities/integration/meta/index.ts';
import { version } from '../src/config/version.ts';
import { DeprecationRegistry } from '../src/contract/deprecations.ts';
import { releases } from '../src/contract/releases.ts';
import { buildOpenApi } from '../src/platform/http/routes/openapi.ts';
import { declaredApp } from '../test/support/declared-routes.ts';
import { clientFiles } from './client-types.ts';
import { readableJson } from './contract/readable-json.ts';
import { diagrams } from './diagrams.ts';
import { forecastChart } from './forecast-chart.ts';
import { monitoringDocuments } from './monitoring/documents.ts';
import { licenceProblems, licencesDocument } from './release/licences.ts';
import { readLockFile } from './release/lock-file.ts';
import { billOfMaterials } from './release/sbom.ts';
import { strayVersions, versionedDocuments } from './release/version-references.ts';
import { responseTypes } from './response-types.ts';
import { settingsPage } from './settings-page.ts';

const baseUrl = 'http://localhost:8080';
const app = declaredApp();
const openApi = buildOpenApi(app.routes, {
  version,
  baseUrl,
  docsUrl: `${baseUrl}/docs`,
  groups: operationGroups,
  schemaNames,
  deprecations: new DeprecationRegistry(),
});
const openApiJson = readableJson(openApi);
const root = new URL('../', import.meta.url);
const versions = {
  current: version,
  released: releases.findLast(({ date }) => date !== 'unreleased')?.version,
};
const lock = readLockFile();
const documents: Record<string, string> = {
  'docs/generated/openapi.json': `${openApiJson}\n`,
  'docs/generated/purser.schema.json': `${readableJson(editorSchema())}\n`,
  'docs/generated/errors.md': errorsMarkdown(),
  'docs/generated/settings.md': settingsPage(),
  'docs/generated/forecasts.svg': forecastChart(),
  ...diagrams(),
  ...monitoringDocuments(app.metrics),
  'docs/generated/licences.md': licencesDocument(lock),
  'docs/generated/sbom.cdx.json': billOfMaterials(lock),
  'src/console/responses.ts': responseTypes(JSON.parse(openApiJson)),
  ...clientFiles(JSON.parse(openApiJson)),
  ...versionedDocuments(fileURLToPath(root), versions),
};

const checking = process.argv.includes('--check');
for (const [name, text] of Object.entries(documents)) {
  const file = new URL(name, root);
  if (!checking) {
    mkdirSync(new URL('.', file), { recursive: true });
    writeFileSync(file, text);
  } else if (readOrEmpty(file) !== text) {
    process.stderr.write(`${name} is stale: run \`npm run generate\` and commit the result.\n`);
    process.exitCode = 1;
  }
}

const knownVersions = [version, ...releases.map((release) => release.version)];
for (const problem of checking
  ? [...licenceProblems(lock), ...strayVersions(fileURLToPath(root), [...new Set(knownVersions)])]
  : []) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

function readOrEmpty(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
