/** `/docs/llms.txt`: a list of all pages in Markdown, for programs that read documentation (llmstxt.org). */
import { type SectionName, type SiteDocument, summaryOf, titleOf } from './document.ts';

const sections: readonly (readonly [SectionName, string])[] = [
  ['start', 'Start'],
  ['guides', 'Guides'],
  ['operations', 'Operations'],
  ['reference', 'Reference'],
  ['api', 'API resources'],
];

export function llmsText(documents: readonly SiteDocument[], baseUrl: string): string {
  const [start] = documents;
  const lists = sections.map(([section, title]) => {
    const items = documents
      .filter((document) => document.section === section)
      .map(({ path, markdown }) => {
        const summary = summaryOf(markdown);
        return `- [${titleOf(markdown)}](${baseUrl}${path}.md)${summary === '' ? '' : `: ${summary}`}`;
      });
    return `## ${title}\n\n${items.join('\n')}\n`;
  });
  return `# Purser

> ${start === undefined ? '' : summaryOf(start.markdown)}

The API as data: ${baseUrl}/v1/openapi.json

${lists.join('\n')}`;
}
