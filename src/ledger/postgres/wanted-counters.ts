/** The counters that commands need, determined before any command is executed, so that all counters are read at once. */
import { applicableCounters } from '../../kernel/admission.ts';
import { countersForIncrease } from '../holds/increase-hold.ts';
import type { MissingCounter } from '../holds/org-ledger-state.ts';
import { attributedScope, requestedAtMs, surfaceOf } from '../postings/effective-scope.ts';
import type { LedgerCommand } from './ledger-command.ts';
import type { OrgChanges } from './org-changes.ts';

/**
 * Returns the counters that the commands need, by key. The value has the data to create a counter; it is undefined if no command
 * checks the counter.
 */
export function wantedCounters<Run>(
  commands: readonly LedgerCommand<Run>[],
  changes: OrgChanges,
  nowMs: number,
): Map<string, MissingCounter | undefined> {
  const { orgState, endedBefore } = changes;
  const wanted = checkedCounters(commands, changes, nowMs);
  const holds = [...orgState.holds.values()].map(({ hold }) => hold);
  for (const hold of [...holds, ...endedBefore]) {
    for (const { key } of [...hold.shares, ...hold.packs]) {
      wanted.set(key, wanted.get(key));
    }
    for (const { key } of applicableCounters(orgState.limits, hold.scope, hold.admittedAtMs, 'run')
      .counters) {
      wanted.set(key, wanted.get(key));
    }
  }
  return wanted;
}

/** Returns the counters that the commands check, without those of the holds that they end. */
export function checkedCounters<Run>(
  commands: readonly LedgerCommand<Run>[],
  { orgState }: OrgChanges,
  nowMs: number,
): Map<string, MissingCounter | undefined> {
  const wanted = new Map<string, MissingCounter | undefined>();
  for (const one of commands) {
    if (one.kind === 'hold' || one.kind === 'preview') {
      for (const { scope, surface } of one.kind === 'hold' ? [one.request] : one.previews) {
        for (const limitWindow of applicableCounters(orgState.limits, scope, nowMs, surface).counters) {
          wanted.set(limitWindow.key, { limitWindow, scope });
        }
      }
    } else if (one.kind === 'import') {
      for (const { scope, admittedAtMs, surface } of one.request.holds) {
        const { counters } = applicableCounters(orgState.limits, scope, admittedAtMs, surface);
        for (const limitWindow of counters) {
          wanted.set(limitWindow.key, { limitWindow, scope });
        }
      }
    } else if (one.kind === 'increase') {
      const hold = orgState.holds.get(one.holdId)?.hold;
      for (const counter of hold === undefined ? [] : countersForIncrease(orgState, hold)) {
        wanted.set(counter.limitWindow.key, counter);
      }
    } else if (one.kind === 'post') {
      for (const posting of one.group.postings) {
        const atMs = requestedAtMs(posting, nowMs);
        const surface = surfaceOf(posting);
        const scope = attributedScope(posting);
        for (const { key } of applicableCounters(orgState.limits, scope, atMs, surface).counters) {
          wanted.set(key, wanted.get(key));
        }
      }
    }
  }
  return wanted;
}
