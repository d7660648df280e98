/** The page of error codes, from the error catalog: a section per code, whose anchor is the code. */
import { errorCatalog, errorCodes, type Retry } from '../contract/errors.ts';
import type { SiteDocument } from './document.ts';
import { errorAdvice } from './error-advice.ts';
import { fieldTable } from './field-table.ts';
import type { JsonSchema } from './json-schema.ts';

const retries: Readonly<Record<Retry, string>> = {
  after_change: 'No: the same request fails until something is changed.',
  after_interval: 'Yes, after the seconds in `Retry-After`.',
  after_window: 'No, not before the window in `details` ends, or until a limit is changed.',
  with_backoff: 'Yes, with backoff.',
  never: 'Never.',
};

export function errorsPage(): SiteDocument {
  const sections = errorCodes.map((code) => {
    const { statuses, retry, meaning, details } = errorCatalog[code];
    const fields = fieldTable(details as unknown as JsonSchema);
    return `<a id="${code}"></a>

## \`${code}\`

HTTP ${statuses.join(' or ')}. ${meaning}

**What to do.** ${errorAdvice[code]}

**Does a retry clear it?** ${retries[retry]}

${fields === '' ? 'It has no `details`: the object is empty.' : `Fields of \`details\`:\n\n${fields}`}
`;
  });
  const rows = errorCodes.map(
    (code) =>
      `| [\`${code}\`](#${code}) | ${errorCatalog[code].statuses.join(' or ')} | ${errorCatalog[code].meaning} |`,
  );
  return {
    path: '/docs/errors',
    section: 'reference',
    source: 'docs/generated/errors.md',
    markdown: `# Error codes

Every response under \`/v1\` with a status of 400 or above has the same body. Switch on \`code\`: codes and their statuses never change.
\`message\` is for people and may change. \`details\` is always there and may gain fields.

\`\`\`json
{"error": {"code": "budget_exceeded", "message": "…", "details": {"budget_id": "bud_…", "limit_usd": "1"}}}
\`\`\`

The same list as data: [\`GET /v1/meta/errors\`](/v1/meta/errors).

| code | HTTP | meaning |
|---|---|---|
${rows.join('\n')}

${sections.join('\n')}`,
  };
}
