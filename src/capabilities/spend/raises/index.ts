export { recordEndedRaises } from './ended-raises.ts';
export { raiseRequestRoutes } from './request-routes.ts';
export { raiseRoutes } from './routes.ts';
