/** The endpoint of coding tools with its dependencies. */
import { createCodeEndpoint } from '../capabilities/access/device-grant/index.ts';
import type { Telemetry } from '../capabilities/integration/telemetry/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { RawEndpoint } from '../platform/http/routes/raw-endpoint.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/** The path of the gateway whose format coding tools speak. */
const inferencePath = '/anthropic';

/** Creates the endpoint. `gateway` is undefined if it is turned off. */
export function createAppCodeEndpoint(
  { config, db, clock, ids, log, services, baseUrl }: AppDependencies,
  {
    peekCredential,
    findCredential,
    impersonation,
    backoff,
    checkRequestRate,
    toolSignIns,
    digestOfUserCode,
  }: Components,
  gateway: Gateway | undefined,
  telemetry: Telemetry,
): RawEndpoint {
  return createCodeEndpoint({
    db,
    clock,
    ids,
    heads: services.auditHeads,
    log,
    signIns: toolSignIns,
    digestOfUserCode,
    baseUrl,
    findCredential,
    peekCredential,
    findSupportSession: impersonation.find,
    recordImpersonated: impersonation.record,
    backoff,
    backoffAttempts: config.authBackoffAttempts,
    checkRequestRate,
    inference: gateway?.endpoints.find(({ path }) => path === inferencePath),
    telemetry: telemetry.callersEndpoint,
  });
}
