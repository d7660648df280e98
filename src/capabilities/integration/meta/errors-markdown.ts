/** Formats the error catalog as Markdown. */
import { errorEntries, gatewayErrorEntries } from './schema.ts';

const retryWords = {
  after_change: 'after a change',
  after_interval: 'yes, after `Retry-After`',
  after_window: 'when the window rolls over, or after a change',
  with_backoff: 'yes, with backoff',
  never: 'never',
} as const;

function tableOf(entries: ReturnType<typeof errorEntries | typeof gatewayErrorEntries>): string {
  const rows = entries.map(({ code, statuses, details, retry, meaning }) => {
    const fields = details.length === 0 ? '`{}`' : details.map((field) => `\`${field}\``).join(', ');
    return `| \`${code}\` | ${statuses.join(' or ')} | ${fields} | ${meaning} | ${retryWords[retry]} |`;
  });
  return `| code | HTTP | \`details\` | meaning | does a retry clear it? |
|---|---|---|---|---|
${rows.join('\n')}`;
}

export function errorsMarkdown(): string {
  return `# Error codes

Generated from \`src/contract/errors.ts\` by \`npm run generate\`; do not edit.

Every response under \`/v1\` with a status of 400 or above has the body
\`{"error": {"code": "…", "message": "…", "details": {…}}}\`. Switch on \`code\`: codes and their statuses never change.
\`details\` is always there and may gain fields.

${tableOf(errorEntries())}

## Codes of the gateway

Calls through the [gateway](../guides/gateway.md) have the codes above, and these. Their bodies have the format of the provider.

${tableOf(gatewayErrorEntries())}
`;
}
