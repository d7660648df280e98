export { snapshotRoutes } from './routes.ts';
export { snapshotDirectory } from './snapshots.ts';
