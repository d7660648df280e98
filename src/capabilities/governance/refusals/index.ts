export { sumRefusals } from './queries.ts';
export { createRefusals, type Refusals } from './refusals.ts';
export { refusalRoutes } from './routes.ts';
