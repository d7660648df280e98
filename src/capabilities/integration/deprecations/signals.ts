/** Headers and metric of responses of deprecated routes. */
import { Counter, type Registry } from 'prom-client';
import { type DeprecationHeaders, deprecationHeaders } from '../../../contract/deprecation-headers.ts';
import type { DeprecationRegistry } from '../../../contract/deprecations.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import type { Callers } from './callers.ts';

export interface SignalDependencies {
  readonly registry: DeprecationRegistry;
  readonly callers: Pick<Callers, 'called'>;
  docsUrl(): string;
}

export interface Signals {
  /** Counts a response and returns its headers; undefined for a route that is not deprecated. */
  signal(route: string, credential: Credential | undefined): DeprecationHeaders | undefined;
  register(metrics: Registry): void;
}

export function createSignals({ registry, callers, docsUrl }: SignalDependencies): Signals {
  const responses = new Map<string, number>();

  return {
    signal(route, credential) {
      const entry = registry.find(route);
      if (entry === undefined) {
        return undefined;
      }
      responses.set(route, (responses.get(route) ?? 0) + 1);
      if (credential !== undefined) {
        callers.called(route, credential);
      }
      return deprecationHeaders(entry, docsUrl());
    },
    register(metrics) {
      new Counter({
        name: 'svc_deprecated_route_calls_total',
        help: 'Responses of deprecated routes, by route template.',
        labelNames: ['route'],
        registers: [metrics],
        collect() {
          // Routes that are no longer deprecated are omitted. Their count is kept, because a counter must not be lower
          // if the route is deprecated again.
          this.reset();
          for (const { route } of registry.list()) {
            this.inc({ route }, responses.get(route) ?? 0);
          }
        },
      });
    },
  };
}
