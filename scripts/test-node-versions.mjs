/**
 * Runs the tests that depend on the Node version (HTTP, database, edge, process start) on the supported Node
 * releases. Their binaries come from the npm registry, one package per platform, and are kept under node_modules.
 *
 *   npm run test:node             all of them
 *   npm run test:node -- 24       one of them
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const cache = join(root, 'node_modules/.cache/node-versions');
const supported = ['22', '24', '26'];
const tests = [
  'src/platform/http',
  'src/platform/db',
  'src/platform/outbound',
  'src/edge/decision-fast-path.test.ts',
  'test/contract/http-edges.framing.test.ts',
  'test/e2e/process.test.ts',
];

/** The package of darwin-arm64 is named differently. */
const platform = `${process.platform}-${process.arch}`;
const binaryPackage = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`;

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) {
    throw error;
  }
  return status ?? 1;
}

/** Installs the binary of a major release, unless it is installed. @param {string} major */
function binaryOf(major) {
  const directory = join(cache, major);
  const binary = join(directory, 'node_modules', binaryPackage, 'bin/node');
  if (!existsSync(binary)) {
    mkdirSync(directory, { recursive: true });
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory];
    if (run('npm', ['install', ...options, `${binaryPackage}@${major}`]) !== 0) {
      throw new Error(`Node ${major} could not be installed for ${platform}`);
    }
  }
  return binary;
}

const asked = process.argv.slice(2);
const unknown = asked.filter((major) => !supported.includes(major));
if (unknown.length > 0) {
  throw new Error(`Unknown Node version ${unknown.join(', ')}. Known: ${supported.join(', ')}`);
}
const failed = (asked.length > 0 ? asked : supported).filter((major) => {
  const binary = binaryOf(major);
  process.stdout.write(`\nNode ${major} (${binaryPackage}@${major})\n`);
  return run(binary, ['node_modules/vitest/vitest.mjs', 'run', '--project', '!soak-*', ...tests]) !== 0;
});
if (failed.length > 0) {
  process.stderr.write(`The tests failed on Node ${failed.join(', ')}\n`);
  process.exitCode = 1;
}
