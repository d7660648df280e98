export { type OrgUsage, sumByOrgs } from './by-org.ts';
export { csvRecord, safeText } from './csv.ts';
export { fetchLines, findTimezone, sumUsage, type UsageGroup } from './queries.ts';
export { usageRoutes } from './routes.ts';
export { type GroupBy, Params, type RowsRequest, selectRows } from './rows.ts';
export { runConditions, spans, type UsageConditions } from './schema.ts';
export {
  createSpooledExports,
  type ExportParts,
  type SpooledExports,
  type TakeLines,
} from './spooled-exports.ts';
export { spanLabel, spanStarts } from './time-spans.ts';
export { conditionsOf, parseDimension, partOf, usageRange } from './usage.ts';
