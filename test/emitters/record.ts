/**
 * Records the spans of emitters: `npx tsx test/emitters/record.ts`, or only those that are named. Installs each emitter outside the
 * repository, runs its program against the provider, and writes `recorded/<name>.json`.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { install } from '../support/tool-cache.ts';
import { type Emitter, emitters } from './emitters.ts';
import { startProvider } from './provider.ts';
import { spansIn, type Traces } from './received-spans.ts';
import type { Recording } from './recording.ts';

const folder = import.meta.dirname;
const run = promisify(execFile);

async function recordAll(names: readonly string[]): Promise<void> {
  for (const emitter of emitters) {
    if (names.length === 0 || names.includes(emitter.name)) {
      await record(emitter);
    }
  }
}

async function record(emitter: Emitter): Promise<void> {
  const installed = await install({
    name: `emitter-${emitter.name}`,
    from: emitter.from,
    packages: [emitter.package, ...emitter.packages],
  });
  if ('missing' in installed) {
    throw new Error(installed.missing);
  }
  const { directory } = installed;
  const provider = await startProvider();
  const [program, script] =
    emitter.from === 'npm'
      ? [process.execPath, join(folder, 'programs/emit.mjs')]
      : [join(directory, 'bin/python'), join(folder, 'programs/emit.py')];
  try {
    await run(program, [script, ...emitter.arguments], {
      env: { PATH: process.env.PATH, PROVIDER_URL: provider.url, PACKAGES: directory },
    });
    const recording: Recording = {
      emitter: emitter.package,
      packages: emitter.packages,
      billed: provider.billed,
      spans: spansIn(provider.traces as unknown as readonly Traces[], provider.url),
    };
    const file = join(folder, 'recorded', `${emitter.name}.json`);
    await writeFile(file, JSON.stringify(recording));
    await run('npx', ['biome', 'format', '--write', file]);
    process.stdout.write(`${emitter.name}: ${recording.spans.length} spans\n`);
  } finally {
    await provider.close();
  }
}

await recordAll(parseArgs({ allowPositionals: true }).positionals);
