/**
 * The fault table: each scenario injects one kind of fault from outside while clients spend, and counts what was acknowledged,
 * lost, doubled and overspent. `npm run faults` runs it with more rounds, another seed, or some scenarios only.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { engine } from '../support/test-database.ts';
import { embeddedFaults } from './embedded-faults.ts';
import type { EmbeddedWorld, FaultScenario, PostgresWorld } from './fault-scenario.ts';
import { type FaultRow, faultLine, faultTable } from './fault-table.ts';
import { openEmbeddedWorld, openPostgresWorld, type SharedWorld } from './fault-worlds.ts';
import { postgresFaults } from './postgres-faults.ts';
import { processFaults } from './process-faults.ts';
import { runScenario } from './run-scenario.ts';

const { PURSER_FAULTS_ROUNDS = '1', PURSER_FAULTS_SEED = '1', PURSER_FAULTS_ONLY = '' } = process.env;
const repetition = { rounds: Number(PURSER_FAULTS_ROUNDS), seed: Number(PURSER_FAULTS_SEED) };

/** The scenarios of an engine know its world, which is opened only once the tests start. */
type AnyWorld = PostgresWorld & EmbeddedWorld;
const scenarios: readonly FaultScenario<AnyWorld>[] = [
  ...processFaults,
  ...(engine === 'postgres' ? postgresFaults : embeddedFaults),
].filter(({ name }) => name.includes(PURSER_FAULTS_ONLY));

let shared: SharedWorld<AnyWorld>;
const rows: FaultRow[] = [];
beforeAll(async () => {
  shared = (await (engine === 'postgres'
    ? openPostgresWorld()
    : openEmbeddedWorld())) as unknown as SharedWorld<AnyWorld>;
});
afterAll(async () => {
  process.stdout.write(`\n${faultTable(`faults, ${engine}, seed ${repetition.seed}`, rows)}\n\n`);
  await shared?.close();
});

test.each(scenarios)('$name: nothing is lost, doubled or overspent', async (scenario) => {
  const note = (figures: FaultRow['figures']) => {
    const row = { name: scenario.name, figures };
    rows.push(row);
    process.stdout.write(`${faultLine(row)}\n`);
  };
  const figures = await runScenario(shared, scenario, repetition).catch((error: unknown) => {
    note(String(error).split('\n')[0] ?? '');
    throw error;
  });
  note(figures);
  expect(figures).toMatchObject({ lost: 0, doubled: 0, overspent: 0, driftUsd: '0' });
});
