/** Checks of the machine: Node, file descriptors, time zones. */
import { readFileSync } from 'node:fs';
import { type Check, fail, ok, skip, warn } from './check.ts';

export const hostChecks: readonly Check[] = [
  { id: 'node', run: checkNode },
  { id: 'file-descriptors', run: () => checkFileDescriptors(readLimits()) },
  { id: 'time-zones', run: () => checkTimeZones(Intl.DateTimeFormat) },
];

/** The oldest supported version, as in `engines` of package.json. */
const oldestNode = [20, 19] as const;

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isSupported = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  return isSupported
    ? ok(`Node ${process.versions.node}.`)
    : fail(`Node ${process.versions.node} is too old.`, `Install Node ${oldestNode.join('.')} or newer.`);
}

/** Each connection is a file descriptor; gateways keep thousands of connections open. */
const descriptorsMin = 4_096;

export function checkFileDescriptors(limits: string | undefined) {
  const found = /^Max open files\s+\S+\s+(\S+)/m.exec(limits ?? '')?.[1];
  if (found === undefined) {
    return skip('The limit cannot be read on this system.');
  }
  // Node raises the soft limit to the hard limit when it starts.
  const limit = found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found);
  return limit >= descriptorsMin
    ? ok(`At most ${found} open files, for a process started from here.`)
    : warn(
        `At most ${found} open files, for a process started from here.`,
        `Raise the limit to ${descriptorsMin} or more: LimitNOFILE in systemd, ulimits in Compose, \`ulimit -n\` in a shell.`,
      );
}

function readLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined;
  }
}

/** Checks the time zone data. Windows follow the time zone of an org, so without the data days would start at wrong instants. */
export function checkTimeZones(DateTimeFormat: typeof Intl.DateTimeFormat) {
  const noonIn = (month: number) =>
    DateTimeFormat('en-GB', { timeZone: 'America/New_York', hour: '2-digit', hourCycle: 'h23' }).format(
      new Date(Date.UTC(2026, month, 15, 12)),
    );
  const remedy =
    'Use a build of Node with full ICU, and do not set NODE_ICU_DATA to an incomplete directory.';
  try {
    const hours = [noonIn(0), noonIn(6)];
    return hours.join() === '07,08'
      ? ok(`Time zone data ${process.versions.tz ?? 'of the system'}.`)
      : fail('Time zone data are wrong: daylight saving time is missing.', remedy);
  } catch {
    return fail('Time zone data are missing.', remedy);
  }
}
