/**
 * Formats an entry as a line of the Common Event Format, version 0 (ArcSight's "Implementing ArcSight Common Event
 * Format", version 26): a header of seven fields separated by bars, then key-value pairs from its dictionary, within
 * the lengths that the dictionary allows.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { jsonLine, lineBreaks } from '../../../platform/line-breaks.ts';
import type { AuditEntry, AuditOutcome } from './chain.ts';

/** CEF severities range from 0 to 10. */
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

/** Returns the key, the value and the maximum length in the dictionary of each extension field. */
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

/** Returns the change as JSON. The caller truncates it if it is too long; the other formats contain the full text. */
function changeText({ before, after, detail }: AuditEntry): string | null {
  return before === null && after === null && detail === null ? null : jsonLine({ before, after, detail });
}

/** Truncates without splitting a character. */
function cut(value: string, lengthMax: number): string {
  return value.slice(0, lengthMax).replace(/[\uD800-\uDBFF]$/, '');
}

/** Escapes bars and backslashes, and replaces line breaks, which a header cannot represent, by spaces. */
function headerText(text: string): string {
  return text.replaceAll(lineBreaks, ' ').replaceAll(/[\\|]/g, '\\$&');
}

/**
 * Escapes equals signs, backslashes and line breaks: carriage returns become `\r`, all other line breaks `\n`. Bars are
 * not escaped.
 */
function extensionText(text: string): string {
  return text.replaceAll(/[\\=]/g, '\\$&').replaceAll('\r', '\\r').replaceAll(lineBreaks, '\\n');
}
