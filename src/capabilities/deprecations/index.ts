export { createCallers } from './callers.ts';
export { deprecationRoutes } from './routes.ts';
export { createSignals } from './signals.ts';
