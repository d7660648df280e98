/** One forecast takes some milliseconds; before the next one, whatever else waits has its turn. */
export { setImmediate } from 'node:timers/promises';
