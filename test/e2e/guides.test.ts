/** Runs every shell block of the guides in order, as a reader of the README would, so that they stay correct. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from '../support/guide-blocks.ts';
import { type ReadersService, startReadersService } from '../support/readers-service.ts';

/** Needs servers of PostgreSQL: `failover-guide.test.ts` runs it. */
const withPostgres = 'postgresql-failover.md';
const guides = readdirSync(join(repository, 'docs/guides'))
  .filter((file) => file !== withPostgres)
  .map((file) => `docs/guides/${file}`);

let service: ReadersService;
/** One service for all: they create organizations of their own. */
beforeAll(async () => {
  service = await startReadersService();
  await service.run(service.blocksOf('README.md'));
});
afterAll(() => service.stop());

test.each(guides)('%s', async (guide) => {
  const blocks = service.blocksOf(guide);
  expect(blocks.length).toBeGreaterThan(0);
  // Its program calls OpenAI itself.
  await service.run(
    blocks,
    guide.endsWith('/typescript.md') ? { OPENAI_BASE_URL: `${service.provider.url}/v1` } : {},
  );
});

test('keys and data are written to the data directory, which git ignores', () => {
  const written = readdirSync(service.directory).filter((file) => /\.(txt|json|csv|ndjson)$/.test(file));
  expect(written).toEqual([]);
});
