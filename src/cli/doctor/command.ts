import { Command } from 'commander';
import { BadSettings, type Config, loadConfig } from '../../config/settings.ts';
import { print } from '../with-database.ts';
import type { Status } from './check.ts';
import { inspectDeployment } from './deployment.ts';
import { type CheckResult, runChecks } from './run-checks.ts';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check a deployment and say what to do: one line per check. Works while the service runs and while it does not. ' +
        'Exit code 0: all is well, 1: warnings, 2: failures.',
    )
    .option('--json', 'print JSON')
    .option('--url <url>', 'URL of the service (default: its address on this machine, from the settings)')
    .action(doctor);
}

interface DoctorOptions {
  readonly json?: boolean;
  readonly url?: string;
}

async function doctor({ json = false, url }: DoctorOptions): Promise<void> {
  const results: CheckResult[] = [];
  const add = (result: CheckResult) => {
    results.push(result);
    if (!json) {
      print(lineOf(result));
    }
  };
  const config = readConfig();
  if (config instanceof BadSettings) {
    const finding = config.message.split('\n').join(' ');
    add({
      id: 'settings',
      status: 'fail',
      finding,
      remedy: 'Correct it; `purser config` explains each setting.',
    });
  } else {
    const deployment = await inspectDeployment(config, url);
    try {
      for await (const result of runChecks(deployment)) {
        add(result);
      }
    } finally {
      await deployment.close();
    }
  }
  const status = overallStatus(results);
  print(json ? JSON.stringify({ status, checks: results }, null, 2) : summary(results));
  process.exitCode = exitCodes[status];
}

function readConfig(): Config | BadSettings {
  try {
    return loadConfig();
  } catch (error) {
    if (error instanceof BadSettings) {
      return error;
    }
    throw error;
  }
}

type OverallStatus = Exclude<Status, 'skip'>;
const exitCodes: Record<OverallStatus, number> = { ok: 0, warn: 1, fail: 2 };

function overallStatus(results: readonly CheckResult[]): OverallStatus {
  const has = (status: Status) => results.some((result) => result.status === status);
  if (has('fail')) {
    return 'fail';
  }
  return has('warn') ? 'warn' : 'ok';
}

const idWidth = 26;

function lineOf({ id, status, finding, remedy }: CheckResult): string {
  return `${status.padEnd(5)} ${id.padEnd(idWidth)} ${finding}${remedy === '' ? '' : ` → ${remedy}`}`;
}

function summary(results: readonly CheckResult[]): string {
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  return `\n${count('ok')} ok, ${count('warn')} warnings, ${count('fail')} failures, ${count('skip')} not checked`;
}
