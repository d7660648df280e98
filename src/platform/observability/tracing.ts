/**
 * OpenTelemetry, if its standard settings enable it: one span per request, exported by OTLP. Otherwise the SDK is not loaded, and
 * spans are the no-ops of the API.
 */
import { type Tracer, trace } from '@opentelemetry/api';

export interface Tracing {
  readonly tracer: Tracer;
  /** Exports the buffered spans. */
  stop(): Promise<void>;
}

export async function startTracing(enabled: boolean, version: string): Promise<Tracing> {
  if (!enabled) {
    return { tracer: trace.getTracer('purser'), stop: async () => undefined };
  }
  const [
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    { defaultResource, detectResources, envDetector, resourceFromAttributes },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
  ]);
  // The exporter, the processor and the sampler read `OTEL_*` themselves. The resource that is merged last takes precedence.
  const ours = resourceFromAttributes({ 'service.name': 'purser', 'service.version': version });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(ours)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  return { tracer: provider.getTracer('purser', version), stop: () => provider.shutdown() };
}
