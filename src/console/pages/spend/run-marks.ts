/** Status and marks of runs. */
import { humanize } from '../../format.ts';
import type { Markup } from '../../html.ts';
import { badge, type Tone } from '../../inline.ts';
import type { RunResponse } from './run-tree.ts';

export const markLabels: Readonly<Record<string, string>> = {
  over_hold: 'exceeded reservation',
  late: 'late',
  degraded: 'offline decision',
  backfill: 'backfilled',
  unpriced: 'no price',
  usage_missing: 'no usage: reserved amount charged',
  unsettled: 'reservation expired: reserved amount charged',
  usage_estimated: 'estimated usage',
  truncated: 'truncated',
  flagged: 'flagged',
};

const tones: Readonly<Record<string, Tone>> = { succeeded: 'good', failed: 'bad', running: 'info' };

export function statusBadge(status: string): Markup {
  return badge(status, tones[status] ?? 'plain');
}

export function marks(run: RunResponse): Markup[] {
  return run.marks.map((mark) =>
    badge(markLabels[mark] ?? humanize(mark), mark === 'backfill' ? 'plain' : 'warn'),
  );
}
