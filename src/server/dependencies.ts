/** The dependencies of the app. They are opened before it, closed after it, and replaced in tests. */

import type { Tracer } from '@opentelemetry/api';
import type { Connections, GatewaySettingsCache } from '../capabilities/integration/connections/index.ts';
import type { Config } from '../config/settings.ts';
import type { Database } from '../platform/db/database.ts';
import type { Faults } from '../platform/faults.ts';
import type { ProcessHealth } from '../platform/http/server/process-health.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import type { Services } from './services.ts';

export interface GatewayReplacements {
  readonly connections: Connections;
  readonly settings: GatewaySettingsCache;
}

export interface AppDependencies {
  readonly config: Config;
  readonly db: Database;
  readonly clock: SharedClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer: Tracer;
  readonly faults: Faults;
  readonly services: Services;
  /** Returns the base URL. It is a function, because with port 0 the URL is only known once the server listens. */
  baseUrl(): string;
  readonly health: Pick<ProcessHealth, 'answer'>;
  /** Minimum time between two renderings of the metrics. Default: one second. */
  readonly metricsEveryMs?: number;
  /** Replaces the connections and the settings of the gateway in tests. */
  readonly gateway?: GatewayReplacements;
  /** Maximum time to verify a SAML response. */
  readonly samlAnswerMsMax?: number;
}
