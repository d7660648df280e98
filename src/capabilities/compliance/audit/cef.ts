/**
 * An entry as a line of the Common Event Format, version 0 (ArcSight's "Implementing ArcSight Common Event Format", version 26):
 * a header of seven fields between bars, then pairs of key and value from its dictionary, within its lengths.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { jsonLine, lineBreaks } from '../../../platform/line-breaks.ts';
import type { AuditEntry, AuditOutcome } from './chain.ts';

/** From 0 to 10. */
const severities: Record<AuditOutcome, number> = { success: 3, failure: 5, denied: 6 };

export function cefLine(entry: AuditEntry, version: string): string {
  const header = [
    'CEF:0',
    'Purser',
    'Purser',
    version,
    entry.action,
    `${entry.action} ${entry.outcome}`,
    String(severities[entry.outcome]),
  ];
  const extension = extensionOf(entry).flatMap(([key, value, lengthMax]) =>
    value === null ? [] : [`${key}=${extensionText(cut(value, lengthMax))}`],
  );
  return `${header.map(headerText).join('|')}|${extension.join(' ')}`;
}

/** Key, value and how long the dictionary lets it be. */
function extensionOf(entry: AuditEntry): (readonly [string, string | null, number])[] {
  const { address } = entry;
  const isV6 = address !== null && isIPv6(address);
  return [
    ['rt', String(Date.parse(entry.at)), 100],
    ['externalId', entry.id, 40],
    ['cat', 'audit', 1_023],
    ['act', entry.action, 63],
    ['outcome', entry.outcome, 63],
    ['reason', entry.code, 1_023],
    ['suid', entry.actorId, 1_023],
    ['spriv', entry.actorKind, 1_023],
    ['src', address !== null && isIPv4(address) ? address : null, 16],
    ['c6a2', isV6 ? address : null, 45],
    ['c6a2Label', isV6 ? 'Source IPv6 Address' : null, 1_023],
    ['cs1', entry.targetKind, 4_000],
    ['cs1Label', 'targetKind', 1_023],
    ['cs2', entry.targetId, 4_000],
    ['cs2Label', 'targetId', 1_023],
    ['cs3', entry.tenantId, 4_000],
    ['cs3Label', 'orgId', 1_023],
    ['cs4', entry.traceId, 4_000],
    ['cs4Label', entry.traceId && 'traceId', 1_023],
    ['cs5', changeText(entry), 4_000],
    ['cs5Label', changeText(entry) && 'change', 1_023],
    ['cs6', entry.hash, 4_000],
    ['cs6Label', 'hash', 1_023],
    ['cn1', String(entry.seq), 20],
    ['cn1Label', 'seq', 1_023],
    ['msg', `${entry.actorKind} ${entry.actorId}: ${entry.action} ${entry.targetId}`, 1_023],
  ];
}

/** Cut off where it is too long: the other formats have all of it. */
function changeText({ before, after, detail }: AuditEntry): string | null {
  return before === null && after === null && detail === null ? null : jsonLine({ before, after, detail });
}

/** No longer than that, and never within a character. */
function cut(value: string, lengthMax: number): string {
  return value.slice(0, lengthMax).replace(/[\uD800-\uDBFF]$/, '');
}

/** Bars and backslashes are escaped; there is no way to write a line break. */
function headerText(text: string): string {
  return text.replaceAll(lineBreaks, ' ').replaceAll(/[\\|]/g, '\\$&');
}

/** Equals signs and backslashes are escaped, and line breaks too: there are escapes for two, and every other is a `\\n`. Bars are not. */
function extensionText(text: string): string {
  return text.replaceAll(/[\\=]/g, '\\$&').replaceAll('\r', '\\r').replaceAll(lineBreaks, '\\n');
}
