export { statementDriftJob } from './drift-job.ts';
export { statementRoutes } from './routes.ts';
