/** Formats the error catalog as Markdown. */
import { errorEntries } from './schema.ts';

const retryWords = {
  after_change: 'after a change',
  after_interval: 'yes, after `Retry-After`',
  after_window: 'when the window rolls over, or after a change',
  with_backoff: 'yes, with backoff',
  never: 'never',
} as const;

export function errorsMarkdown(): string {
  const rows = errorEntries().map(({ code, statuses, details, retry, meaning }) => {
    const fields = details.length === 0 ? '`{}`' : details.map((field) => `\`${field}\``).join(', ');
    return `| \`${code}\` | ${statuses.join(' or ')} | ${fields} | ${meaning} | ${retryWords[retry]} |`;
  });
  return `# Error codes

Generated from \`src/contract/errors.ts\` by \`npm run generate\`; do not edit.

Every response under \`/v1\` with a status of 400 or above has the body
\`{"error": {"code": "…", "message": "…", "details": {…}}}\`. Switch on \`code\`: codes and their statuses never change.
\`details\` is always there and may gain fields.

| code | HTTP | \`details\` | meaning | does a retry clear it? |
|---|---|---|---|---|
${rows.join('\n')}
`;
}
