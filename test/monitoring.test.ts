/** The dashboards and alert rules in `deploy/monitoring` name only what `/metrics` of a running service has. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { alertRules } from '../scripts/monitoring/alerts.ts';
import { dashboards } from '../scripts/monitoring/panels.ts';
import { registeredMetrics } from '../scripts/monitoring/registered-metrics.ts';
import { useWorld } from './harness.ts';

const folder = resolve(import.meta.dirname, '../deploy/monitoring');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.\w+$/.test(name),
);
const read = (name: string) => readFileSync(join(folder, name), 'utf8');

const world = useWorld();
let types: ReadonlyMap<string, string>;
let exposition: string;
beforeAll(async () => {
  exposition = (await world.request('GET', '/metrics')).text;
  types = new Map(
    [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
});

test('there are two dashboards and a file of rules', () => {
  expect(files.sort()).toEqual([
    'grafana/purser-service.json',
    'grafana/purser-spend.json',
    'prometheus-rules.yaml',
  ]);
});

test.each(files)('%s names only metrics that exist', (name) => {
  const named = new Set(read(name).match(/\b(?:svc|process|nodejs)_[a-z0-9_]+\b/g));
  expect(named.size).toBeGreaterThan(5);
  const known = (metric: string) =>
    types.has(metric) || types.get(metric.replace(/_bucket$/, '')) === 'histogram';
  expect([...named].filter((metric) => !known(metric))).toEqual([]);
});

test('rates are of counters, percentiles of histograms, and values of gauges', () => {
  const expected = { rate: 'counter', quantiles: 'histogram', sum: 'gauge', max: 'gauge' } as const;
  for (const { rows } of dashboards) {
    for (const { metric, form } of Object.values(rows).flat()) {
      if (form !== 'value') {
        expect([metric, types.get(metric)]).toEqual([metric, expected[form]]);
      }
    }
  }
});

test('every metric of the service has a panel', () => {
  const shown = new Set(
    dashboards.flatMap(({ rows }) =>
      Object.values(rows)
        .flat()
        .map(({ metric }) => metric),
    ),
  );
  const own = [...types.keys()].filter((name) => name.startsWith('svc_'));
  expect(own.length).toBeGreaterThan(20);
  expect(own.filter((name) => !shown.has(name))).toEqual([]);
});

test('dashboards are valid for Grafana: ids and places are unique, and each panel has a query', () => {
  for (const name of files.filter((file) => file.endsWith('.json'))) {
    const { panels, templating } = JSON.parse(read(name));
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
    const places = panels.map(({ gridPos }: { gridPos: object }) => JSON.stringify(gridPos));
    expect(new Set(places).size).toBe(panels.length);
    for (const { type, targets, datasource } of panels) {
      if (type !== 'row') {
        expect(targets.length).toBeGreaterThan(0);
        expect(datasource.uid).toBe('$source');
      }
    }
    expect(templating.list.map(({ name: variable }: { name: string }) => variable)).toEqual([
      'source',
      'job',
    ]);
  }
});

test('a rule about a metric that does not exist is an error', () => {
  const empty = { getMetricsAsArray: () => [] } as never;
  expect(() => alertRules(registeredMetrics(empty))).toThrow('there is no metric svc_ledger_drift');
});

test('the pages that rules name as runbooks exist', () => {
  const docs = resolve(import.meta.dirname, '../docs');
  const runbooks = [...read('prometheus-rules.yaml').matchAll(/runbook: "\/docs\/([^"#]+)(?:#([^"]+))?"/g)];
  expect(runbooks.length).toBeGreaterThan(5);
  for (const [, page = '', section] of runbooks) {
    const headings = readFileSync(join(docs, `${page}.md`), 'utf8')
      .match(/^#+ .*$/gm)
      ?.map((heading) => heading.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-'));
    if (section !== undefined) {
      expect(headings, page).toContain(section);
    }
  }
});
