export { redeliver, sendTest } from './deliveries.ts';
export { countTestMails, type DeliveryRow, listDeliveries } from './delivery-queries.ts';
export { encryptedColumns } from './encrypted-columns.ts';
export { checkPatterns, wantsEvent } from './event-patterns.ts';
export { type ChatMessages, createHttpTransport } from './http-transport.ts';
export { webhookJobs } from './jobs.ts';
export type { Event } from './message.ts';
export { type Backlog, createDeliveryCounts, readBacklog, registerWebhookMetrics } from './metrics.ts';
export { findSubscription, listSubscriptions, type SubscriptionRow, selectSubscriptions } from './queries.ts';
export { webhookRoutes } from './routes.ts';
export {
  CreateSubscription,
  DeliveryFilters,
  deliveryFailures,
  deliveryStates,
  eventPatterns,
  type WebhookFormat,
} from './schema.ts';
export { createSender } from './sender.ts';
export {
  addSubscription,
  changeSubscription,
  isMailSubscription,
  subscriptionsPerOrgMax,
  urlForReaders,
  viewSubscription,
} from './subscriptions.ts';
export { removeOldDeliveries, removeOldEvents } from './tidying.ts';
export type { Transport } from './transport.ts';
export { openWantedEvents, subscribersOf, subscribersSince, type WantedEvents } from './wanted-events.ts';
