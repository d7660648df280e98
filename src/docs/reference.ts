/** The API reference: an index, a list of all operations, and a page for each group of operations. */
import type { SiteDocument } from './document.ts';
import { lookupIn, type OpenApi } from './openapi.ts';
import { type Examples, exampleChooser } from './reference-examples.ts';
import { type DocsGroup, groupsOf } from './reference-groups.ts';
import { bodiesOf, objectMarkdown, sharedObjects } from './reference-objects.ts';
import { operationMarkdown, requestOf } from './reference-operation.ts';

export function referenceDocuments(openApi: OpenApi, examples: Examples): SiteDocument[] {
  const groups = groupsOf(openApi);
  return [
    { path: '/docs/api', section: 'reference', markdown: indexMarkdown(openApi, groups) },
    ...groups.map((group) => ({
      path: group.path,
      section: 'api' as const,
      anchorDepthMax: 2,
      markdown: groupMarkdown(group, openApi, examples),
    })),
  ];
}

function indexMarkdown({ info }: OpenApi, groups: readonly DocsGroup[]): string {
  const sections = groups.map(
    ({ path, title, description, operations }) =>
      `## [${title}](${path})\n\n${description}\n\n${operations
        .map(
          (operation) =>
            `- [${operation.summary}](${path}#${operation.operationId}): ${requestOf(operation)}`,
        )
        .join('\n')}\n`,
  );
  return `# API reference

Version ${info.version}. JSON over HTTP under \`/v1\`. Authenticate with \`Authorization: Bearer <key>\` ([keys](/docs/guides/keys)). A write
that may be retried carries an \`Idempotency-Key\` ([idempotency](/docs/guides/idempotency)). Every error has the same body and a
[code](/docs/errors). Amounts of money are decimal strings. The same as data: [OpenAPI 3.1](/v1/openapi.json).

The samples read the base URL, the key and ids from environment variables:

\`\`\`text
PURSER_URL=http://localhost:8080  PURSER_KEY=svc_…  ORG_ID=org_…
\`\`\`

${sections.join('\n')}`;
}

/** Returns a list of all operations for the start page. Its anchors are permanent. */
export function operationIndex(openApi: OpenApi): string {
  const items = groupsOf(openApi).flatMap(({ path, operations }) =>
    operations.map(
      (operation) =>
        `| <a id="${operation.operationId}"></a>[${operation.summary}](${path}#${operation.operationId})${
          operation.deprecated === true ? ' (deprecated)' : ''
        } | ${requestOf(operation)} |`,
    ),
  );
  return `## All operations\n\n| operation | request |\n|---|---|\n${items.join('\n')}\n`;
}

function groupMarkdown(
  { title, description, operations }: DocsGroup,
  openApi: OpenApi,
  examples: Examples,
): string {
  const find = lookupIn(openApi);
  const shared = sharedObjects(operations, find);
  const bodies = bodiesOf(operations);
  const exampleFor = exampleChooser(examples);
  const parts = [
    ...operations.map((operation) =>
      operationMarkdown(operation, { find, shared, bodies, example: exampleFor(operation) }),
    ),
    ...[...shared.keys()].map((name) => objectMarkdown(name, shared, find)),
  ];
  return `# ${title}\n\n${description}\n\n${parts.join('\n')}`;
}
