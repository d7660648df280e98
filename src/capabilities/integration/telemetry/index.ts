export { addressOf } from './spans.ts';
export { createTelemetry, type Telemetry } from './telemetry.ts';
