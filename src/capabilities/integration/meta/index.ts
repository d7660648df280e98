export { errorsMarkdown } from './errors-markdown.ts';
export { operationGroups } from './groups.ts';
export { metaRoutes } from './routes.ts';
export { schemaNames } from './schema-names.ts';
