/** A check of `purser doctor` and its finding. If something is wrong, the finding has a remedy. */
import type { InspectedDeployment } from './deployment.ts';

/** `skip`: the check was not made; the finding says why. */
export type Status = 'ok' | 'warn' | 'fail' | 'skip';

export interface Finding {
  readonly status: Status;
  /** The finding as a sentence. */
  readonly finding: string;
  /** The recommended action, as a sentence; empty if none is needed. */
  readonly remedy: string;
}

export interface Check {
  /** Stable id, in kebab-case: scripts filter by it. */
  readonly id: string;
  run(deployment: InspectedDeployment): Finding | Promise<Finding>;
}

export const ok = (finding: string): Finding => ({ status: 'ok', finding, remedy: '' });
export const skip = (finding: string): Finding => ({ status: 'skip', finding, remedy: '' });
export const warn = (finding: string, remedy: string): Finding => ({ status: 'warn', finding, remedy });
export const fail = (finding: string, remedy: string): Finding => ({ status: 'fail', finding, remedy });
