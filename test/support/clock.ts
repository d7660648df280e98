/** When it is in a world, until its test moves the clock. */
export const startOfClock = new Date('2026-11-15T12:00:00.000Z');
