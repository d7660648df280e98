// @ts-check
/** Loaded into the service for memory measurements: collects garbage on request and returns the memory usage. */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// The channel to the bench must not keep the service alive.
process.channel?.unref();
