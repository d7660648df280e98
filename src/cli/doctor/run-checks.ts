/** All checks of `purser doctor`, in the order of the report. */
import type { Check, Finding } from './check.ts';
import { citusChecks } from './citus-checks.ts';
import { credentialChecks } from './credential-checks.ts';
import { databaseChecks } from './database-checks.ts';
import { withinMs } from './deadline.ts';
import type { InspectedDeployment } from './deployment.ts';
import { diskChecks } from './disk-checks.ts';
import { hostChecks } from './host-checks.ts';
import { ledgerChecks } from './ledger-checks.ts';
import { mailChecks } from './mail-checks.ts';
import { notificationChecks } from './notification-checks.ts';
import { postgresChecks } from './postgres-checks.ts';
import { redisChecks } from './redis-checks.ts';
import { secretsChecks } from './secrets-checks.ts';
import { serviceChecks } from './service-checks.ts';
import { settingsChecks } from './settings-checks.ts';

export interface CheckResult extends Finding {
  readonly id: string;
}

const checkWithinMs = 60_000;

/** Yields each result as soon as it is known: some checks take seconds. */
export async function* runChecks(deployment: InspectedDeployment): AsyncGenerator<CheckResult> {
  for (const { id, run } of checksFor(deployment)) {
    yield { id, ...(await runCheck(run, deployment)) };
  }
}

function checksFor({ engine }: InspectedDeployment): readonly Check[] {
  return [
    ...settingsChecks,
    ...hostChecks,
    ...diskChecks,
    ...serviceChecks,
    ...databaseChecks,
    ...(engine === 'postgres' ? [...postgresChecks, ...notificationChecks, ...citusChecks] : []),
    ...redisChecks,
    ...mailChecks,
    ...credentialChecks,
    ...secretsChecks,
    ...ledgerChecks,
  ];
}

/** Runs a check. A failure of the check itself becomes a finding, so that the rest of the report still appears. */
async function runCheck(run: Check['run'], deployment: InspectedDeployment): Promise<Finding> {
  try {
    return await withinMs(checkWithinMs, Promise.resolve(run(deployment)));
  } catch (error) {
    return {
      status: 'fail',
      finding: `Could not be checked: ${(error as Error).message}.`,
      remedy: 'See the log of the service and of the database.',
    };
  }
}
