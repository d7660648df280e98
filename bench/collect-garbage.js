// @ts-check
/** Loaded into the service where memory is measured: collects garbage when it is told to, and says what is left. */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// The bench must not keep the service from ending.
process.channel?.unref();
