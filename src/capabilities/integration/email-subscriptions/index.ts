export { emailSubscriptionRoutes } from './routes.ts';
export { unsubscribePages } from './unsubscribe-page.ts';
