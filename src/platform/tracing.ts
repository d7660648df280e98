/**
 * OpenTelemetry, only where the standard settings ask for it: one span per request, exported by OTLP. Without
 * them the SDK is not even loaded, and spans are the API's own no-ops.
 */
import { type Tracer, trace } from '@opentelemetry/api';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is still buffered. */
  stop(): Promise<void>;
}

export async function startTracing(enabled: boolean, version: string): Promise<Tracing> {
  if (!enabled) {
    return { tracer: trace.getTracer('purser'), stop: async () => undefined };
  }
  const [
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    { defaultResource, resourceFromAttributes },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
  ]);
  // The exporter, the processor and the default resource read `OTEL_*` themselves.
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'purser', 'service.version': version }).merge(
      defaultResource(),
    ),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  return { tracer: provider.getTracer('purser', version), stop: () => provider.shutdown() };
}
