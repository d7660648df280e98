/** Writes the metric, the span and the log line of a request that was answered. */
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import type { Log } from '../../log.ts';
import type { RequestMetrics } from '../../observability/metrics.ts';
import type { Reply, StreamedReply } from '../message/reply.ts';
import type { RequestContext } from './request-context.ts';

export interface ObserveDependencies {
  readonly metrics: RequestMetrics;
  readonly log: Log;
}

export type ObserveRequest = (
  context: RequestContext,
  reply: Reply | StreamedReply,
  span: Span,
  durationMs: number,
) => void;

export function createObserveRequest({ metrics, log }: ObserveDependencies): ObserveRequest {
  return (context, reply, span, durationMs) => {
    const { request } = context;
    const route = context.endpoint?.template ?? 'unmatched';
    metrics.observe(request.method ?? '', route, reply.status, durationMs / 1_000);
    if (span.isRecording()) {
      span.updateName(`${request.method} ${route}`);
      span.setAttributes({
        'http.request.method': request.method ?? '',
        'http.route': route,
        'http.response.status_code': reply.status,
        'svc.trace_id': context.traceId,
      });
      if (reply.status >= 500) {
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    }
    log[reply.status >= 500 ? 'warn' : 'info'](
      {
        traceId: context.traceId,
        method: request.method,
        route,
        status: reply.status,
        code: reply.code,
        tenant: context.caller?.tenantId,
        key: context.caller?.keyId,
        address: context.address,
        sentBy: context.sentBy,
        servedBy: 'servedBy' in reply ? reply.servedBy : undefined,
        ms: Math.round(durationMs * 100) / 100,
      },
      'request',
    );
  };
}
