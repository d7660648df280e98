/** Runs the checks of `purser doctor` in this process. */
import { inspectDeployment } from '../../src/cli/doctor/deployment.ts';
import { type CheckResult, runChecks } from '../../src/cli/doctor/run-checks.ts';
import { loadConfig } from '../../src/config/settings.ts';

export type Report = Readonly<Record<string, CheckResult>>;

/** Returns the results by the id of the check. */
export async function examine(settings: Record<string, string>, url?: string): Promise<Report> {
  const deployment = await inspectDeployment(loadConfig(settings), url);
  const report: Record<string, CheckResult> = {};
  try {
    for await (const result of runChecks(deployment)) {
      report[result.id] = result;
    }
  } finally {
    await deployment.close();
  }
  return report;
}
