/** The state of the mail server, which is part of the installation's health. It is checked in the background, at most once a minute. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Mailer } from './mailer.ts';

export interface MailState {
  readonly isConfigured: boolean;
  /** The problem of the mail server; null if it accepts connections or has not answered yet. */
  readonly problem: string | null;
}

const checkEveryMs = 60_000;
/** Time that the first reader waits for the first result. */
const waitMs = 1_000;

export function createMailState(mailer: Mailer, nowMs: () => number): () => Promise<MailState> {
  let problem: string | null = null;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;

  async function check(): Promise<void> {
    const { error, response, status } = await mailer.verify();
    problem = error === null && status === null ? null : (response ?? error);
    checkedAtMs = nowMs();
    checking = undefined;
  }

  return async () => {
    if (mailer.isConfigured && nowMs() - checkedAtMs >= checkEveryMs) {
      const isFirst = checkedAtMs === Number.NEGATIVE_INFINITY;
      checking ??= check();
      if (isFirst) {
        await Promise.race([checking, pause(waitMs, undefined, { ref: false })]);
      }
    }
    return { isConfigured: mailer.isConfigured, problem };
  };
}
