/** Time as a dependency, so that tests can set it. */
export interface Clock {
  now(): Date;
}

export interface SharedClock extends Clock {
  /** What time it is where processes have to agree: what the database says. */
  agreed(databaseNow: Date): Date;
}

export const systemClock: SharedClock = { now: () => new Date(), agreed: (databaseNow) => databaseNow };
