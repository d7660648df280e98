/** Preloaded into a process: a promise that nothing awaits is rejected at each SIGUSR2. */
process.on('SIGUSR2', () => void Promise.reject(new Error('rejected by the test')));
