/** One forecast takes some milliseconds; before the next one, whatever else waits has its turn. */
export { setImmediate as othersFirst } from 'node:timers/promises';
