/** Time as a dependency, so that tests can set it. */
export interface Clock {
  now(): Date;
}

export interface SharedClock extends Clock {
  /** Returns the time that all processes agree on, which is that of the database. */
  agreed(databaseNow: Date): Date;
}

export const systemClock: SharedClock = { now: () => new Date(), agreed: (databaseNow) => databaseNow };
