import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { type Config, loadConfig } from '../config/settings.ts';
import { literalUrl } from '../platform/http/server/local-url.ts';
import { processStart } from '../platform/process-identity.ts';
import { print } from './with-database.ts';

const answerWithinMs = 4_000;
const retryEveryMs = 200;

/** For health checks of containers and for scripts. Only loads the settings, so that it can run often. */
export function healthCommand(): Command {
  return new Command('health')
    .description('Check the running service on this machine: exit code 0 if it runs, 1 otherwise.')
    .option('--ready', 'check that it can serve requests (/readyz), not only that it runs (/healthz)')
    .option('--wait <seconds>', 'seconds to wait until the check succeeds', parseSeconds, 0)
    .option('--pid <pid>', 'process id of the service: stop waiting when it has ended', parsePid)
    .action(health);
}

interface HealthOptions {
  readonly ready?: boolean;
  readonly wait: number;
  readonly pid?: number;
}

async function health({ ready = false, wait, pid }: HealthOptions): Promise<void> {
  const url = `${probeUrl(loadConfig())}${ready ? '/readyz' : '/healthz'}`;
  const lastAttemptMs = performance.now() + wait * 1_000;
  for (;;) {
    const result = await probe(url);
    if (result.ok) {
      print('ok');
      return;
    }
    if (pid !== undefined && processStart(pid) === undefined) {
      throw new Error(`the process ${pid} of the service has ended`);
    }
    if (performance.now() >= lastAttemptMs) {
      throw new Error(`${url} ${result.problem}`);
    }
    await pause(retryEveryMs);
  }
}

/** Returns the URL of the service on this machine. The base URL may lead to another process, or to none. */
function probeUrl({ host, port, healthPort }: Config): string {
  // The health port answers even if many connections wait on the main port. If it is 0, the system chose a port that is not known
  // here.
  return literalUrl(host, healthPort === undefined || healthPort === 0 ? port : healthPort);
}

async function probe(url: string): Promise<{ ok: true } | { ok: false; problem: string }> {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) });
    return status === 200 ? { ok: true } : { ok: false, problem: `returned ${status}` };
  } catch (error) {
    const { message, cause } = error as Error;
    return { ok: false, problem: `did not respond: ${cause instanceof Error ? cause.message : message}` };
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds > 3_600) {
    throw new InvalidArgumentError('Must be an integer from 0 to 3600.');
  }
  return seconds;
}

function parsePid(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) {
    throw new InvalidArgumentError('Must be a process id.');
  }
  return Number(text);
}
