export { docsPage, rootPage } from './docs-page.ts';
export { errorsMarkdown } from './errors-markdown.ts';
export { operationGroups } from './groups.ts';
export { escapeHtml, htmlAnswer, inline } from './html.ts';
export { metaRoutes } from './routes.ts';
export { schemaNames } from './schema-names.ts';
