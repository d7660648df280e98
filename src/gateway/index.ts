export { gatewayCallRoutes } from './call-routes.ts';
export { createGateway, type Gateway } from './gateway.ts';
export { createDeployments } from './learned/deployments.ts';
export { countsStore } from './learned/queries.ts';
export { createPaceEvents } from './pace/pace-events.ts';
