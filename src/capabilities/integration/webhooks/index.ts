export { encryptedColumns } from './encrypted-columns.ts';
export { webhookJobs } from './jobs.ts';
export { type Backlog, createDeliveryCounts, readBacklog, registerWebhookMetrics } from './metrics.ts';
export { webhookRoutes } from './routes.ts';
export { createSender } from './sender.ts';
export { removeOldDeliveries, removeOldEvents } from './tidying.ts';
export { openWantedEvents, subscribersOf, type WantedEvents } from './wanted-events.ts';
