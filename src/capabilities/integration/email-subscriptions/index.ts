export { emailSubscriptionRoutes } from './routes.ts';
export { CreateEmailSubscription } from './schema.ts';
export {
  subscriptionsPerOrgMax as emailSubscriptionsPerOrgMax,
  viewSubscription as viewEmailSubscription,
  withoutWildcard,
} from './subscriptions.ts';
export { unsubscribePages } from './unsubscribe-page.ts';
export { hasUnsubscribed } from './unsubscribed.ts';
