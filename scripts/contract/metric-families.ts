/** What `/metrics` exposes of our own: names, types and labels, without values. */

export interface MetricFamily {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Those of the runtime differ by platform and are not ours to promise. */
const ours = 'svc_';

export function metricFamilies(exposition: string): Record<string, MetricFamily> {
  const families: Record<string, { type: string; labels: string[] }> = {};
  for (const [, name = '', type = ''] of exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (name.startsWith(ours)) {
      families[name] = { type, labels: [] };
    }
  }
  for (const [, sample = '', labels = ''] of exposition.matchAll(/^(\w+)\{(.*)\} /gm)) {
    const family = families[sample] ?? families[sample.replace(/_(bucket|sum|count)$/, '')];
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) {
      // Bounds of a histogram's buckets are part of the type.
      if (family !== undefined && label !== 'le' && !family.labels.includes(label)) {
        family.labels.push(label);
        family.labels.sort();
      }
    }
  }
  return families;
}
