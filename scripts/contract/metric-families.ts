/** Purser's own metrics in `/metrics`: names, types and labels, without values. */

export interface MetricFamily {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Prefix of Purser's metrics. Those of the runtime differ by platform and are not part of the contract. */
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
      // `le` is left out: the bucket bounds of a histogram are part of its type.
      if (family !== undefined && label !== 'le' && !family.labels.includes(label)) {
        family.labels.push(label);
        family.labels.sort();
      }
    }
  }
  return families;
}
