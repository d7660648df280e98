/**
 * Shows the progress of a backup, a restore or a move on standard error. A terminal line is rewritten; elsewhere a line is written
 * at intervals.
 */
import type { TransferFrame } from '../platform/db/transfer/frames.ts';

const redrawEveryMs = { terminal: 200, file: 5_000 };

export interface TransferProgress {
  onFrame(frame: TransferFrame): void;
  /** Returns the rows and holds so far. */
  totals(): { readonly rows: number; readonly holds: number };
  done(): void;
}

export function showProgress(verb: string, output: NodeJS.WriteStream = process.stderr): TransferProgress {
  let rows = 0;
  let holds = 0;
  let drawnAtMs = Date.now();
  return {
    onFrame(frame) {
      if (frame.kind === 'holds') {
        holds += frame.records.length;
      }
      if (frame.kind !== 'rows') {
        return;
      }
      rows += frame.rows;
      const everyMs = output.isTTY ? redrawEveryMs.terminal : redrawEveryMs.file;
      if (Date.now() - drawnAtMs >= everyMs) {
        drawnAtMs = Date.now();
        const line = `${verb} ${frame.table}: ${rows.toLocaleString('en-US')} rows so far`;
        output.write(output.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
      }
    },
    totals: () => ({ rows, holds }),
    done() {
      if (output.isTTY) {
        output.write('\r\x1b[K');
      }
    },
  };
}
