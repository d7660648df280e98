/** The systemd unit: valid, and hardened. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasTool } from '../support/containers.ts';

const missing = !hasTool('systemd-analyze');
if (missing) {
  process.stderr.write('The systemd unit is not tested: systemd-analyze is not installed.\n');
}

/** Exposure of at most 2.0, on a scale from 0 to 10. */
const exposureMax = 20;

describe.skipIf(missing)('the systemd unit', () => {
  let directory: string;
  const unit = readFileSync(resolve(import.meta.dirname, '../../deploy/systemd/purser.service'), 'utf8');
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'purser-unit-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  function analyze(text: string, ...command: string[]) {
    const file = join(directory, 'purser.service');
    // Node may be elsewhere on the machine of the test.
    writeFileSync(file, text.replaceAll('/usr/bin/node', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', [...command, file], { encoding: 'utf8' });
    return { status, stderr };
  }

  test('the systemd unit has no unknown settings and no missing programs', () => {
    expect(analyze(unit, 'verify')).toEqual({ status: 0, stderr: '' });
    expect(analyze(unit.replace('Restart=', 'Restrat='), 'verify').stderr).toMatch(/Unknown key.*Restrat/);
  });

  test('confines the service', () => {
    const security = ['security', '--offline=true', '--no-pager', `--threshold=${exposureMax}`];
    expect(analyze(unit, ...security).status).toBe(0);
    expect(
      analyze(
        unit
          .replace('ProtectSystem=strict', '')
          .replace('NoNewPrivileges=yes', '')
          .replace('User=purser', ''),
        ...security,
      ).status,
    ).not.toBe(0);
  });
});
