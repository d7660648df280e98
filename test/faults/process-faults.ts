/** Faults of Purser processes, on both engines. */
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ServiceProcess } from '../support/service-process.ts';
import { type FaultScenario, type FaultWorld, replace } from './fault-scenario.ts';

const answersBetween = 40;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));
export const hourMs = 3_600_000;

export const processFaults: readonly FaultScenario<FaultWorld>[] = [
  {
    name: 'kill -9 of a process',
    async inject(world) {
      for (let kill = 0; kill < 2 * world.rounds; kill += 1) {
        await world.answersMore(answersBetween + world.random.int(answersBetween));
        const killed = world.random.of(world.services);
        await killed.end('SIGKILL');
        await replace(world, killed);
      }
    },
  },
  {
    name: 'kill -9 of all processes',
    async inject(world) {
      for (let kill = 0; kill < world.rounds; kill += 1) {
        await world.answersMore(answersBetween + world.random.int(answersBetween));
        await restartAll(world, 'SIGKILL');
      }
    },
  },
  {
    name: 'SIGTERM of all processes',
    async inject(world) {
      await world.answersMore(answersBetween);
      await restartAll(world, 'SIGTERM');
    },
  },
  {
    name: 'a process frozen for 8 s',
    async inject(world) {
      await world.answersMore(answersBetween);
      const frozen = world.random.of(world.services);
      frozen.spawned.child.kill('SIGSTOP');
      // Longer than the silence after which the other processes find it dead.
      await pause(8_000);
      frozen.spawned.child.kill('SIGCONT');
    },
  },
  {
    name: 'a clock set back by an hour',
    inject: (world) => shiftClock(world, -hourMs),
  },
];

/** Replaces a process by one with another clock, and that by one whose clock is right. */
export async function shiftClock(world: FaultWorld, shiftMs: number): Promise<void> {
  await world.answersMore(answersBetween);
  const shifted = { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(shiftMs) };
  const killed = world.random.of(world.services);
  await killed.end('SIGKILL');
  world.services = world.services.filter((service) => service !== killed);
  const wrong = await world.start(shifted);
  world.services = [...world.services, wrong];
  await world.answersMore(answersBetween);
  await wrong.end('SIGTERM');
  await replace(world, wrong);
  await world.answersMore(answersBetween);
}

async function restartAll(world: FaultWorld, signal: NodeJS.Signals): Promise<void> {
  const ended = world.services;
  await Promise.all(ended.map((service) => service.end(signal)));
  world.services = [];
  const started: ServiceProcess[] = [];
  for (const _ of ended) {
    started.push(await world.start());
  }
  world.services = started;
}
