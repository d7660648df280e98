/** The OpenTelemetry receiver with its dependencies. */
import { addressOf, createTelemetry, type Telemetry } from '../capabilities/integration/telemetry/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/** Creates the receiver. `gateway` is undefined if it is turned off. */
export function createAppTelemetry(
  { config, log, baseUrl }: AppDependencies,
  components: Components,
  gateway: Gateway | undefined,
): Telemetry {
  const { peekCredential, impersonation, findCredential, backoff, checkRequestRate, runDependencies } =
    components;
  const telemetry = createTelemetry({
    log,
    runs: runDependencies,
    findCredential,
    peekCredential,
    findSupportSession: impersonation.find,
    recordImpersonated: impersonation.record,
    backoff,
    checkRequestRate,
    bodyBytesMax: config.bodyLimitBytes,
    postPending: (orgId) => gateway?.postPending(orgId),
    gatewayAddress: () => (gateway === undefined ? undefined : addressOf(baseUrl())),
  });
  telemetry.register(components.metrics.registry);
  return telemetry;
}
