/** Next steps for a person who starts the service in a terminal. The log is JSON for machines. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Config } from '../config/settings.ts';
import { localUrl } from '../platform/http/server/local-url.ts';
import { commandName } from './command-name.ts';

/** Shows the next steps. `url` is the address of the service. Uses standard error, so that the log stays one JSON object per line. */
export function showWelcome(config: Config, url: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\n${welcome(config, url)}\n\n`);
  }
}

export function welcome(config: Config, url: string): string {
  const shown = config.baseUrl ?? localUrl(config.host, Number(new URL(url).port));
  const keyFile = join(config.dataDir, 'operator-key');
  const steps = [
    ['First budget', `${commandName()} init --name Acme`],
    ['Console', `${commandName()} console-link`],
    ['Documentation', config.docsUrl ?? `${shown}/docs`],
    ...(existsSync(keyFile) ? [['Operator key', shortPath(keyFile)]] : []),
    ['Check it', `${commandName()} doctor`],
    ['Stop', 'Ctrl+C'],
  ];
  const lines = steps.map(([name = '', value]) => `  ${name.padEnd(15)}${value}`);
  return [`Purser is ready at ${shown}`, '', ...lines].join('\n');
}

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
