import { type Route, stream } from '../../../platform/http/routes/route.ts';
import { createFocusExport, type FocusDependencies } from './export.ts';
import { FocusQuery } from './schema.ts';

export function focusRoutes(deps: FocusDependencies): Route[] {
  const exportFocus = createFocusExport(deps);
  return [
    stream({
      id: 'usage.focus',
      path: '/v1/orgs/{id}/usage/focus',
      summary: 'Export cost and usage in FOCUS',
      description:
        'Streams a row per charge period, provider, model and the dimensions of `group_by`, in the columns of the FinOps ' +
        'Open Cost and Usage Specification 1.2 or 1.4, as CSV or Parquet. In 1.4, each kind of usage, such as cached input or ' +
        'output, is a row. The sum of `BilledCost` equals the ledger. The same data ' +
        'yields the same bytes. A correction that was posted after the month of its charge is a row with the `ChargeClass` ' +
        '`Correction`, in the billing period in which it was posted.',
      access: { kind: 'org', scope: 'runs:read', role: 'viewer' },
      query: FocusQuery,
      contentTypes: ['text/csv', 'application/vnd.apache.parquet'],
      handler: ({ params, query, now }) => exportFocus(params.id, query, now),
    }),
  ];
}
