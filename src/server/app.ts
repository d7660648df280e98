/** The app: the pipeline over all routes and pages, the fast path of decisions, and the jobs. */
import type { Registry } from 'prom-client';
import { auditRefusedCalls } from '../capabilities/compliance/audit/index.ts';
import { operationGroups, schemaNames } from '../capabilities/integration/meta/index.ts';
import { version } from '../config/version.ts';
import type { DeprecationRegistry } from '../contract/deprecations.ts';
import { createDecisionFastPath } from '../edge/index.ts';
import type { FastPathOptions } from '../platform/http/fast/fast-path.ts';
import type { HeadersOfUnread } from '../platform/http/message/unread-head.ts';
import { createPipeline, type RequestHandler } from '../platform/http/pipeline/pipeline.ts';
import { cachedOpenApi } from '../platform/http/routes/openapi.ts';
import type { Route } from '../platform/http/routes/route.ts';
import { buildRouter, type Router } from '../platform/http/routes/router.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import { createAppCodeEndpoint } from './code-endpoint.ts';
import { createComponents } from './components.ts';
import type { AppDependencies } from './dependencies.ts';
import { createAppGateway } from './gateway.ts';
import { createJobs } from './jobs.ts';
import { createPages } from './pages.ts';
import { createRoutes } from './routes.ts';
import { createAppTelemetry } from './telemetry.ts';

export interface App {
  readonly routes: readonly Route[];
  /** Finds routes, pages and the endpoints of the gateway. */
  readonly router: Router;
  readonly handler: RequestHandler;
  readonly headersOfUnread: HeadersOfUnread;
  /** Options of the fast HTTP path; undefined if `SVC_HTTP_FAST_PATH` turns it off. */
  readonly fastPath: FastPathOptions | undefined;
  readonly jobs: readonly Job[];
  /** Records the runs of a job that does not belong to the app. */
  observeJob(job: Job): Job;
  /** The deprecations in force. */
  readonly deprecations: DeprecationRegistry;
  /** The metrics on `/metrics`. */
  readonly metrics: Registry;
  /** Ends streamed responses in progress properly when the process stops. */
  endStreams(): Promise<void>;
  /** Writes buffered data and waits for work without a client. Must be called after the last response, while the database is open. */
  finish(waitMs?: number): Promise<void>;
}

export function createApp(deps: AppDependencies): App {
  const components = createComponents(deps);
  const { config, db, clock, log, tracer, faults, baseUrl, services } = deps;
  const {
    docsUrl,
    deprecations,
    callers,
    signals,
    refusals,
    attempts,
    regions,
    metrics,
    peekCredential,
    impersonation,
    findCredential,
    sessions,
    backoff,
    customerDigest,
    keyReleases,
    recordCallersChange,
    edgeDependencies,
    checkRequestRate,
    jobHistory,
  } = components;
  const openApi = cachedOpenApi(
    () => routes,
    () => ({
      version,
      baseUrl: baseUrl(),
      docsUrl: docsUrl(),
      groups: operationGroups,
      schemaNames,
      deprecations,
    }),
  );
  const gateway = createAppGateway(deps, components);
  const routes = createRoutes(deps, components, gateway, openApi);
  const pages = createPages(deps, components, openApi, () => pipeline);
  const telemetry = createAppTelemetry(deps, components, gateway);
  const code = createAppCodeEndpoint(deps, components, gateway, telemetry);
  const router = buildRouter(routes, pages, [telemetry.endpoint, code, ...(gateway?.endpoints ?? [])]);
  const pipeline = createPipeline({
    router,
    db,
    clock,
    log,
    faults,
    metrics,
    tracer,
    backoff,
    settings: config,
    // Includes support sessions here only: sign-in pages do not accept their tokens.
    findCredential: (token, address) =>
      peekCredential(token) ??
      impersonation
        .find(token, address)
        .then((impersonated) => impersonated ?? findCredential(token, address)),
    findSupportSession: (token, address) => impersonation.find(token, address),
    recordImpersonated: (request) => impersonation.record(request),
    sessions,
    baseUrl,
    regions,
    checkRequestRate,
    signalDeprecation: signals.signal,
    recordDenial: ({ route, ...failed }) => refusals.note({ ...failed, operation: route.id }),
    onRefusedCall: auditRefusedCalls(attempts),
    recordChange: recordCallersChange,
    postPending: (orgId) => gateway?.postPending(orgId),
    customerDigest,
    processId: services.processes.id,
    keyReleases,
  });

  const decision = routes.find(({ id }) => id === 'edge.decide');
  // No fast path while requests are traced, because creating a span takes longer than a decision.
  const fastHandler =
    decision === undefined || config.otlpEndpoint !== undefined || config.otlpTracesEndpoint !== undefined
      ? undefined
      : createDecisionFastPath({
          ...edgeDependencies,
          route: decision,
          clock,
          log,
          counts: metrics.countsOf(decision.path),
          trustedProxies: config.trustedProxies,
          bodyLimitBytes: config.bodyLimitBytes,
          peekCredential,
          isDeprecated: () => deprecations.find(decision.path) !== undefined,
        });

  return {
    routes,
    router,
    handler: pipeline.handle,
    headersOfUnread: pipeline.headersOfUnread,
    fastPath: config.httpFastPath ? { fastHandler, serve: pipeline.serve } : undefined,
    jobs: [...createJobs(deps, components), ...(gateway?.jobs ?? [])].map(jobHistory.observe),
    observeJob: jobHistory.observe,
    deprecations,
    metrics: metrics.registry,
    async endStreams() {
      await gateway?.cut();
    },
    async finish(waitMs = 0) {
      await gateway?.finish(waitMs);
      await callers.flush();
      await attempts.flush();
    },
  };
}
