export { driftWatch } from './drift-watch.ts';
export { type IncreaseDependencies, increaseCallHold } from './hold-increases.ts';
export { findRecentlyBooked } from './ledger-bounds.ts';
export { listLimitUsage } from './limit-usage-list.ts';
export { countOpenHolds } from './open-holds.ts';
export { reconcile } from './reconciliation.ts';
export { ledgerRoutes } from './routes.ts';
