/** A check of `purser doctor`, and its finding: what was found and, if it is not fine, the remedy. */
import type { Deployment } from './deployment.ts';

/** `skip`: not checked, and why. */
export type Status = 'ok' | 'warn' | 'fail' | 'skip';

export interface Finding {
  readonly status: Status;
  /** A sentence. */
  readonly finding: string;
  /** The recommended action, as a sentence; empty if none is needed. */
  readonly remedy: string;
}

export interface Check {
  /** Stable id, in kebab-case: scripts filter by it. */
  readonly id: string;
  run(deployment: Deployment): Finding | Promise<Finding>;
}

export const ok = (finding: string): Finding => ({ status: 'ok', finding, remedy: '' });
export const skip = (finding: string): Finding => ({ status: 'skip', finding, remedy: '' });
export const warn = (finding: string, remedy: string): Finding => ({ status: 'warn', finding, remedy });
export const fail = (finding: string, remedy: string): Finding => ({ status: 'fail', finding, remedy });
