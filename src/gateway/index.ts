export { gatewayCallRoutes } from './call-routes.ts';
export { createGateway, type Gateway } from './gateway.ts';
export type { IncreaseCallHold } from './hold-coverage.ts';
export { createDeployments } from './learned/deployments.ts';
export { countsStore } from './learned/queries.ts';
export { createOpenIncreases } from './open-increases.ts';
export { createPaceEvents } from './pace/pace-events.ts';
