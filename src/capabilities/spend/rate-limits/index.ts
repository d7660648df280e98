export { policyIdentity } from './policies.ts';
export { readRateLimits } from './rate-limits.ts';
export { rateLimitRoutes } from './routes.ts';
export { PutRateLimits, type RatePolicyView } from './schema.ts';
