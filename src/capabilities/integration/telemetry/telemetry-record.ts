/** A span or a log record, with the attributes that are read. */
import type { Attributes } from './attributes.ts';

export interface TelemetryRecord {
  /** Lowercase hex; empty if there is none. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** Zero if it is not given. For a log record both are the time of the event. */
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  /** Name of the event of a log record; empty for a span. */
  readonly eventName: string;
  readonly scopeName: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

/** The part of a record that its resource and its scope give to all of their records. */
export type RecordContext = Pick<TelemetryRecord, 'resource' | 'scopeName'>;

export type Signal = 'traces' | 'logs' | 'metrics';

const nanosPerMs = 1_000_000n;

/** Returns zero for a time that no date can represent. */
export function millisecondsOf(nanos: bigint): number {
  const ms = nanos / nanosPerMs;
  return ms > 0n && ms < 8_640_000_000_000_000n ? Number(ms) : 0;
}

/** An id of zeros is none. */
export function idOf(hex: string, length: number): string {
  return hex.length === length && /^[0-9a-f]+$/.test(hex) && !/^0+$/.test(hex) ? hex : '';
}

export const traceIdLength = 32;
export const spanIdLength = 16;
/** Longer names of events are none that are known. */
export const eventNameMax = 100;
export const errorStatus = 2;
