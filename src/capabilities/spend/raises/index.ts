export { recordEndedRaises } from './ended-raises.ts';
export { raiseRoutes } from './routes.ts';
