/**
 * A full disk under the data directory of the embedded engine: writes return 503, reads work, nothing that was acknowledged is
 * lost, and the service recovers by itself when there is space again.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import { type ServiceAnswer, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const mount = (directory: string) =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'purser-test', directory], { stdio: 'pipe' });
const unmount = (directory: string) => execFileSync('umount', ['-l', directory], { stdio: 'pipe' });

/** Returns whether a small file system can be mounted, which requires root. */
function canMount(): boolean {
  const directory = `/tmp/purser-mount-full-${process.pid}`;
  try {
    mkdirSync(directory);
    mount(directory);
    unmount(directory);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.runIf(engine === 'embedded' && canMount())('a full disk', () => {
  let place: Place;
  beforeAll(async () => {
    const template = await makePlace({ migrated: true });
    place = await makePlace({ migrated: false });
    mount(place.dataDir);
    cpSync(template.dataDir, place.dataDir, { recursive: true });
    await template.remove();
  });
  afterEach(endAllProcesses);
  afterAll(async () => {
    unmount(place.dataDir);
    await place?.remove();
  });

  /** Fills the file system, up to the last free block. */
  function fill(): void {
    for (const bytes of [1_048_576, 4_096]) {
      try {
        for (;;) {
          writeFileSync(join(place.dataDir, 'filler'), Buffer.alloc(bytes), { flag: 'a' });
        }
      } catch {
        // Full.
      }
    }
  }

  test('returns 503 for writes, serves reads, and recovers without help', async () => {
    const service = await startPurser(settingsOf(place));
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('1000');
    const acknowledged = new Set<string>();
    const bulk = (from: number) =>
      through.send('POST', '/v1/runs/bulk', {
        runs: Array.from({ length: 200 }, (_, n) => ({
          external_id: `bulk ${from + n}`,
          cost_usd: '0.0001',
          model: 'm',
          workflow: 'w'.repeat(200),
        })),
      });
    fill();
    const answers: ServiceAnswer[] = [];
    let sent = 0;
    // Until four rounds in a row were refused: nothing free is left in the files.
    for (let refused = 0; refused < 4; ) {
      const round = await Promise.all([
        bulk(200 * sent++),
        ...Array.from({ length: 4 }, (_, n) =>
          through.run({ external_id: `run ${sent} ${n}`, cost_usd: '0.001' }),
        ),
        through.decide({ estimated_cost_usd: '0.001' }),
        through.send('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: `${1_000 + sent}` }),
      ]);
      answers.push(...round);
      for (const { status, json } of round) {
        if (status === 201 && json.external_id !== undefined) {
          acknowledged.add(json.external_id);
        }
      }
      refused = round.some(({ status }) => status < 300) ? 0 : refused + 1;
    }
    const counts: Record<string, number> = {};
    for (const { status, code } of answers) {
      counts[`${status} ${code ?? ''}`] = (counts[`${status} ${code ?? ''}`] ?? 0) + 1;
    }
    expect(Object.keys(counts).filter((key) => !/^(20\d |503 service_unavailable)/.test(key))).toEqual([]);
    expect((await through.send('GET', '/v1/runs?limit=1')).status).toBe(200);

    rmSync(join(place.dataDir, 'filler'));
    await eventually(async () => expect((await through.run({ cost_usd: '0.001' })).status).toBe(201));
    const stored = new Set((await through.runs()).map(({ external_id }) => external_id));
    expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
    await through.balanced();
  });
});
