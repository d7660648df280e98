/** Renders dashboards as Grafana imports them. */
import type { Dashboard, Panel } from './panels.ts';
import type { RegisteredMetrics } from './registered-metrics.ts';

const selector = 'job=~"$job"';
const rateWindow = '$__rate_interval';
const columns = 4;
const gridWidth = 24;
const panelHeight = 7;

export function dashboardJson(
  { uid, title, description, rows }: Dashboard,
  metrics: RegisteredMetrics,
): string {
  const panels: object[] = [];
  let y = 0;
  for (const [name, ofRow] of Object.entries(rows)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: name,
      gridPos: { x: 0, y, w: gridWidth, h: 1 },
      collapsed: false,
      panels: [],
    });
    y += 1;
    for (const [index, panel] of ofRow.entries()) {
      const width = gridWidth / columns;
      const gridPos = {
        x: (index % columns) * width,
        y: y + Math.floor(index / columns) * panelHeight,
        w: width,
        h: panelHeight,
      };
      panels.push(panelJson(panels.length + 1, panel, gridPos, metrics.helpOf(panel.metric)));
    }
    y += Math.ceil(ofRow.length / columns) * panelHeight;
  }
  const dashboard = {
    uid,
    title,
    description,
    tags: ['purser'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [dataSource, jobs] },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const dataSource = { name: 'source', label: 'Data source', type: 'datasource', query: 'prometheus' };
const jobs = {
  name: 'job',
  label: 'Job',
  type: 'query',
  datasource: { type: 'prometheus', uid: '$source' },
  query: { query: 'label_values(svc_http_requests_total, job)', refId: 'jobs' },
  definition: 'label_values(svc_http_requests_total, job)',
  multi: true,
  includeAll: true,
  refresh: 2,
};

function panelJson(id: number, panel: Panel, gridPos: object, help: string): object {
  return {
    id,
    type: 'timeseries',
    title: panel.title,
    description: help,
    datasource: { type: 'prometheus', uid: '$source' },
    gridPos,
    fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: queriesOf(panel).map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat: legend,
    })),
  };
}

interface Query {
  readonly expr: string;
  readonly legend: string;
}

const quantiles: readonly (readonly [number, string])[] = [
  [0.5, 'median'],
  [0.95, '95 %'],
  [0.99, '99 %'],
];

export function queriesOf({ metric, form, by, where }: Panel): readonly Query[] {
  const chosen = `{${where === undefined ? selector : `${selector}, ${where}`}}`;
  const grouped = by === undefined ? '' : ` by (${by})`;
  const legend = by === undefined ? metric : `{{${by}}}`;
  switch (form) {
    case 'rate':
      return [{ expr: `sum${grouped} (rate(${metric}${chosen}[${rateWindow}]))`, legend }];
    case 'quantiles':
      return quantiles.map(([quantile, name]) => ({
        expr: `histogram_quantile(${quantile}, sum by (le) (rate(${metric}_bucket${chosen}[${rateWindow}])))`,
        legend: name,
      }));
    case 'sum':
    case 'max':
      return [{ expr: `${form}${grouped} (${metric}${chosen})`, legend }];
    default: {
      const isCounter = metric.endsWith('_total');
      const expr = isCounter ? `rate(${metric}${chosen}[${rateWindow}])` : `${metric}${chosen}`;
      return [{ expr, legend: '{{instance}}' }];
    }
  }
}
