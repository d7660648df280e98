export { safetyRoutes } from './routes.ts';
export { createSafety, type Inspected, type Safety } from './safety.ts';
export { contentCharactersMax } from './schema.ts';
