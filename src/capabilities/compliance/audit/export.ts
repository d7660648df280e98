/**
 * Streams the log as lines, for a SIEM. Entries are read one page at a time, as the receiver consumes them, so memory
 * use does not grow with the log and no database connection is held in between. Every line has its `seq`, so an
 * interrupted export resumes after the last line received.
 */
import { invalidField } from '../../../contract/api-error.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import { cefLine } from './cef.ts';
import type { AuditEntry } from './chain.ts';
import type { ChainHeads } from './chain-heads.ts';
import { viewCheckpoint } from './checkpoints.ts';
import { checkpointLine, ndjsonLine } from './export-lines.ts';
import { awaitAppends, findHead } from './head-queries.ts';
import { ocsfLine } from './ocsf.ts';
import { findCheckpointsBetween, findSpan, readEntries } from './queries.ts';
import type { ExportQuery } from './schema.ts';
import type { Signer } from './signing-keys.ts';

export interface AuditExportDependencies {
  readonly db: Database;
  readonly heads: ChainHeads;
  readonly signer: Signer;
  /** Version of this software, which the SIEM formats require. */
  readonly version: string;
}

const daysMax = 90;
const dayMs = 24 * 3_600_000;
const entriesPerPage = 250;

const contentTypes = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  cef: 'text/plain; charset=utf-8',
  ocsf: 'application/x-ndjson; charset=utf-8',
} as const;

export function exportLog(
  deps: AuditExportDependencies,
  tenantId: string,
  query: ExportQuery,
  now: Date,
): StreamResponse {
  const from = new Date(query.from);
  const to = new Date(query.to);
  if (to <= from) {
    throw invalidField('to', 'out_of_range', 'Must be later than `from`.');
  }
  if (to.getTime() - from.getTime() > daysMax * dayMs) {
    throw invalidField('to', 'out_of_range', `Must be at most ${daysMax} days after \`from\`.`);
  }
  const format = query.format ?? 'ndjson';
  const withCheckpoints = query.checkpoints ?? false;
  if (withCheckpoints && format !== 'ndjson') {
    throw invalidField('checkpoints', 'invalid_value', 'Only `ndjson` can contain checkpoints.');
  }
  return {
    contentType: contentTypes[format],
    chunks: pages(deps, { tenantId, from, to, now, after: query.cursor ?? 0, withCheckpoints }, (entry) =>
      lineOf(entry, format, deps.version),
    ),
  };
}

function lineOf(entry: AuditEntry, format: keyof typeof contentTypes, version: string): string {
  switch (format) {
    case 'ndjson':
      return ndjsonLine(entry);
    case 'cef':
      return cefLine(entry, version);
    case 'ocsf':
      return ocsfLine(entry, version);
  }
}

interface ExportRange {
  readonly tenantId: string;
  readonly from: Date;
  readonly to: Date;
  readonly now: Date;
  readonly after: number;
  readonly withCheckpoints: boolean;
}

async function* pages(
  deps: AuditExportDependencies,
  { tenantId, from, to, now, after, withCheckpoints }: ExportRange,
  line: (entry: AuditEntry) => string,
): AsyncGenerator<string> {
  const { db, heads } = deps;
  // Waits for appends in progress, which may be dated within the requested range. Later appends have later dates.
  await db.transaction((tx) => awaitAppends(tx, tenantId));
  const span = await findSpan(db, tenantId, from, to);
  let last: AuditEntry | undefined;
  for (let at = Math.max(after, (span?.first ?? 1) - 1); span !== undefined && at < span.last; ) {
    const entries = await readEntries(db, tenantId, at, Math.min(entriesPerPage, span.last - at));
    const checkpoints = withCheckpoints
      ? await checkpointsOf(db, tenantId, entries)
      : new Map<number, string>();
    const lines = entries.flatMap((entry) => [line(entry), checkpoints.get(entry.seq) ?? []].flat());
    if (lines.length > 0) {
      yield `${lines.join('\n')}\n`;
    }
    last = entries.at(-1) ?? last;
    // If no entries were read, retention has removed the remaining ones in the meantime.
    at = entries.at(-1)?.seq ?? span.last;
  }
  // The final checkpoint marks the file as complete.
  if (withCheckpoints && last !== undefined && heads.isGenuine(tenantId, await findHead(db, tenantId))) {
    yield `${await lastCheckpoint(deps, tenantId, last, now)}\n`;
  }
}

/** Returns the checkpoints of these entries by position, one line each. */
async function checkpointsOf(
  db: Queryable,
  tenantId: string,
  entries: readonly AuditEntry[],
): Promise<Map<number, string>> {
  const rows = await findCheckpointsBetween(db, tenantId, entries[0]?.seq ?? 0, entries.at(-1)?.seq ?? -1);
  return new Map(rows.map((row) => [Number(row.seq), checkpointLine(viewCheckpoint(row))]));
}

/** Checkpoint of the last line, so that truncation of the file is detected. */
async function lastCheckpoint(
  { db, signer }: AuditExportDependencies,
  tenantId: string,
  { seq, hash }: AuditEntry,
  now: Date,
): Promise<string> {
  const said = { org_id: tenantId, seq, hash, at: now.toISOString() };
  return checkpointLine({ ...said, token: await signer.sign(db, { kind: 'checkpoint', ...said }) });
}
