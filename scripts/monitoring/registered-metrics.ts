/** The metrics that the service registers, by name, with their help texts. */
import type { Registry } from 'prom-client';

export interface RegisteredMetrics {
  /** Returns the help text. Throws if there is no such metric: a document must not name one that does not exist. */
  helpOf(name: string): string;
  /** The names of Purser's own metrics; those of the runtime differ by platform. */
  readonly own: readonly string[];
}

export function registeredMetrics(registry: Registry): RegisteredMetrics {
  const helps = new Map(
    (registry.getMetricsAsArray() as unknown as readonly { name: string; help: string }[]).map(
      ({ name, help }) => [name, help],
    ),
  );
  return {
    helpOf(name) {
      const help = helps.get(name);
      if (help === undefined) {
        throw new Error(`there is no metric ${name}`);
      }
      return help;
    },
    own: [...helps.keys()].filter((name) => name.startsWith('svc_')).sort(),
  };
}
