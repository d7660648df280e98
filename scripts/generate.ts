/**
 * Writes the generated documents, or reports stale ones with `--check`. They are committed, so that changes of the API are
 * visible in the diff.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { errorsMarkdown, operationGroups } from '../src/capabilities/integration/meta/index.ts';
import { version } from '../src/config/version.ts';
import { DeprecationRegistry } from '../src/contract/deprecations.ts';
import { buildOpenApi } from '../src/platform/http/routes/openapi.ts';
import { declaredRoutes } from '../test/support/declared-routes.ts';
import { forecastChart } from './forecast-chart.ts';
import { settingsPage } from './settings-page.ts';

const baseUrl = 'http://localhost:8080';
const openApi = buildOpenApi(declaredRoutes(), {
  version,
  baseUrl,
  docsUrl: `${baseUrl}/docs`,
  groups: operationGroups,
  deprecations: new DeprecationRegistry(),
});
const documents: Record<string, string> = {
  'openapi.json': `${JSON.stringify(openApi, null, 2)}\n`,
  'errors.md': errorsMarkdown(),
  'settings.md': settingsPage(),
  'forecasts.svg': forecastChart(),
};
const directory = new URL('../docs/generated/', import.meta.url);
mkdirSync(directory, { recursive: true });

const checking = process.argv.includes('--check');
for (const [name, text] of Object.entries(documents)) {
  const file = new URL(name, directory);
  if (!checking) {
    writeFileSync(file, text);
  } else if (readOrEmpty(file) !== text) {
    process.stderr.write(
      `docs/generated/${name} is stale: run \`npm run generate\` and commit the result.\n`,
    );
    process.exitCode = 1;
  }
}

function readOrEmpty(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
