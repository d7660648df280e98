export { gatewayCallRoutes } from './call-routes.ts';
export { createGateway, type Gateway } from './gateway.ts';
