/**
 * Keeps the newest timeline of the database, in memory and in a file of the data directory. Each promotion of a standby starts a
 * new timeline. So a writable server on an older timeline is a former primary that was not shut down: decisions made there are
 * lost, and do not count on the new primary.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../../log.ts';
import type { ServerIdentity } from './server-identity.ts';

export interface TimelineRecord {
  readonly systemId: string;
  readonly timeline: number;
  /** Incremented when an operator accepts an older timeline, which then replaces the newer one in running processes. */
  readonly accepted: number;
}

export interface TimelineGuardOptions {
  /** Undefined: the timeline is only kept in memory. */
  readonly file: string | undefined;
  readonly log: Log;
}

export class TimelineGuard {
  readonly #file: string | undefined;
  readonly #log: Log;
  #newest: TimelineRecord | undefined;
  /** False until the first server was checked, because a service may be started with the URL of another database. */
  #isBound = false;
  #hasWarned = { unreadable: false, unwritable: false };

  constructor({ file, log }: TimelineGuardOptions) {
    this.#file = file;
    this.#log = log;
    this.#newest = this.#read();
  }

  get newest(): TimelineRecord | undefined {
    return this.#newest;
  }

  /** Returns false if the timeline is older than the newest one. An unknown timeline counts as current. */
  isCurrent(timeline: number | undefined): boolean {
    return timeline === undefined || timeline >= (this.#newest?.timeline ?? 0);
  }

  /** Returns the reason why this primary must not be used; undefined if it may be used. Stores its timeline if that is newer. */
  check({ systemId, timeline }: ServerIdentity): string | undefined {
    if (systemId === undefined || timeline === undefined) {
      this.#warnOnce(
        'unreadable',
        'the timeline of the database cannot be read with this role: a former primary after a failover is not detected',
      );
      return undefined;
    }
    if (this.#newest?.systemId !== systemId || this.#newest.timeline !== timeline) {
      // Another process with the same file may have seen a newer timeline.
      this.refresh();
    }
    const newest = this.#newest;
    if (newest?.systemId === systemId && timeline < newest.timeline) {
      return `its timeline ${timeline} is older than ${newest.timeline}, so it is a former primary; shut it down, or run \`purser database accept\` to go back to it`;
    }
    if (newest !== undefined && newest.systemId !== systemId) {
      if (this.#isBound) {
        return `it belongs to another database system (${systemId}, not ${newest.systemId}); restart the service if this is intended`;
      }
      this.#log.warn(
        { systemId, formerSystemId: newest.systemId },
        'another database system than at the last start',
      );
    }
    this.#isBound = true;
    if (newest?.systemId !== systemId || newest.timeline < timeline) {
      this.#store({ systemId, timeline, accepted: newest?.accepted ?? 0 });
    }
    return undefined;
  }

  /** Reads the file again: another process may have seen a newer timeline, or an operator may have accepted an older one. */
  refresh(): void {
    let stored: TimelineRecord | undefined;
    try {
      stored = this.#read();
    } catch (error) {
      this.#warnOnce('unwritable', 'the stored timeline of the database cannot be read', error);
      return;
    }
    const newest = this.#newest;
    if (stored === undefined || newest === undefined || stored.systemId !== newest.systemId) {
      return;
    }
    if (stored.accepted > newest.accepted) {
      this.#log.warn({ timeline: stored.timeline }, 'an operator accepted this timeline of the database');
      this.#newest = stored;
    } else if (stored.accepted === newest.accepted && stored.timeline > newest.timeline) {
      this.#newest = stored;
    }
  }

  /** Replaces the newest timeline with that of this server, even if it is older. */
  accept({ systemId, timeline }: ServerIdentity): TimelineRecord {
    if (systemId === undefined || timeline === undefined) {
      throw new Error('the timeline of the database cannot be read with this role');
    }
    const record = { systemId, timeline, accepted: (this.#newest?.accepted ?? 0) + 1 };
    this.#newest = record;
    this.#write(record);
    return record;
  }

  #store(record: TimelineRecord): void {
    const former = this.#newest;
    this.#newest = record;
    if (former?.systemId === record.systemId) {
      this.#log.warn(
        { timeline: record.timeline, formerTimeline: former.timeline },
        'database failover: a new timeline',
      );
    }
    try {
      this.#write(record);
    } catch (error) {
      this.#warnOnce(
        'unwritable',
        'the timeline of the database cannot be stored: a restart forgets it',
        error,
      );
    }
  }

  /** Replaces the file atomically, so that a crash leaves the old or the new content. */
  #write(record: TimelineRecord): void {
    if (this.#file === undefined) {
      return;
    }
    mkdirSync(dirname(this.#file), { recursive: true });
    const draft = `${this.#file}.${process.pid}`;
    const descriptor = openSync(draft, 'w', 0o600);
    try {
      writeSync(descriptor, `${JSON.stringify(record)}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, this.#file);
  }

  #read(): TimelineRecord | undefined {
    if (this.#file === undefined) {
      return undefined;
    }
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return undefined;
      }
      throw new Error(
        `cannot read the timeline of the database in ${this.#file}: ${(error as Error).message}`,
      );
    }
    return parseRecord(text, this.#file);
  }

  #warnOnce(what: 'unreadable' | 'unwritable', message: string, error?: unknown): void {
    if (!this.#hasWarned[what]) {
      this.#hasWarned[what] = true;
      this.#log.warn(error === undefined ? {} : { err: error }, message);
    }
  }
}

function parseRecord(text: string, file: string): TimelineRecord {
  try {
    const { systemId, timeline, accepted } = JSON.parse(text) as Partial<TimelineRecord>;
    if (typeof systemId === 'string' && Number.isInteger(timeline) && Number.isInteger(accepted)) {
      return { systemId, timeline, accepted } as TimelineRecord;
    }
  } catch {
    // An unreadable file is reported like one with other content.
  }
  throw new Error(
    `${file} does not contain the timeline of a database; remove it if you know that there was no failover`,
  );
}
