/** The initial time of the fake clock in a test world. */
export const startOfClock = new Date('2026-11-15T12:00:00.000Z');
