import { basename } from 'node:path';

/** Returns the command as it can be typed here: installed, or from a checkout. */
export function commandName(): string {
  return basename(process.argv[1] ?? '') === 'purser' ? 'purser' : 'npm run --silent purser --';
}
