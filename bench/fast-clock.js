// @ts-check
/** Loaded before a service: its monotonic clock and its interval timers run faster by the factor in `BENCH_CLOCK_FACTOR`. */
const factor = Number(process.env.BENCH_CLOCK_FACTOR);
const now = performance.now.bind(performance);
performance.now = () => now() * factor;

const repeat = globalThis.setInterval;
globalThis.setInterval = /** @type {typeof setInterval} */ (
  (/** @type {() => void} */ run, /** @type {number} */ ms, /** @type {unknown[]} */ ...args) =>
    repeat(run, ms / factor, ...args)
);
