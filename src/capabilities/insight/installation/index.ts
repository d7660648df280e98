export { installationRoutes } from './routes.ts';
export { overdueHoldSeconds, overdueWebhookSeconds, pricesWarnDays } from './thresholds.ts';
