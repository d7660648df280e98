/** The page of event types, from the event catalog: a section per type, with an example of its data. */
import { eventKind, eventTypes } from '../contract/events.ts';
import type { SiteDocument } from './document.ts';
import { depthMax, fieldTable } from './field-table.ts';
import { type JsonSchema, noSchemas } from './json-schema.ts';

export function eventsPage(): SiteDocument {
  const sections = eventTypes.map((type) => {
    const { meaning, data, example } = eventKind(type);
    return `<a id="${type}"></a>

## \`${type}\`

${meaning}

\`\`\`json
${JSON.stringify(example, null, 2)}
\`\`\`

${fieldTable(data as unknown as JsonSchema, noSchemas, depthMax)}`;
  });
  const rows = eventTypes.map((type) => `| [\`${type}\`](#${type}) | ${eventKind(type).meaning} |`);
  return {
    path: '/docs/events',
    section: 'reference',
    markdown: `# Events

Events that a webhook subscription can receive. Each delivery has the fields \`id\`, \`type\`, \`created_at\`, \`org_id\` and \`data\`; the
sections below show \`data\`. Types and their fields are only ever added: ignore what you do not know. How to subscribe, verify
signatures and redeliver: [webhooks](/docs/guides/webhooks). The same list as data, with schemas: [\`GET /v1/meta/events\`](/v1/meta/events).

| event | when |
|---|---|
${rows.join('\n')}

${sections.join('\n')}`,
  };
}
