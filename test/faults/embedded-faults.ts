/** Faults of the embedded database. */
import type { EmbeddedWorld, FaultScenario } from './fault-scenario.ts';

const answersBetween = 40;

/** A power cut belongs here: a copy of only what was synced. */
export const embeddedFaults: readonly FaultScenario<EmbeddedWorld>[] = [
  {
    name: 'database thread ended',
    async inject(world) {
      for (let times = 0; times < 2 * world.rounds; times += 1) {
        await world.answersMore(answersBetween);
        await world.endDatabaseThread();
      }
    },
  },
  {
    name: 'disk of the data directory full',
    async inject(world) {
      if (world.fillDisk === undefined) {
        throw new Error('this machine cannot mount a file system for the data directory');
      }
      await world.answersMore(answersBetween);
      const free = world.fillDisk();
      await world.allRefused();
      free();
    },
  },
];
