export { createRegions } from './regions.ts';
export { createResidencyOf, type Residency, type ResidencyOf } from './residency.ts';
export { residencyRoutes } from './routes.ts';
