export { gatewayCallRoutes } from './call-routes.ts';
export { createGateway, type Gateway } from './gateway.ts';
export { countsStore } from './learned/queries.ts';
