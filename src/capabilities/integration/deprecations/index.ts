export { createCallers } from './callers.ts';
export { deprecationsMarkdown } from './docs-page.ts';
export { deprecationRoutes } from './routes.ts';
export { createSignals } from './signals.ts';
