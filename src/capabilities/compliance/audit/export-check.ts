/** Verifies an exported file without the service: its entries and the checkpoints among them. */
import type { SignedPosition } from './chain.ts';
import { ChainCheck, type ChainFinding } from './chain-check.ts';
import { parseExportLine } from './export-lines.ts';
import { isSigned } from './redaction.ts';
import type { CheckpointView } from './schema.ts';
import { type OpenedStatement, type OpenToken, type TrustedKey, tokenOpener } from './signing.ts';

export interface ExportCheckOptions {
  /** Public keys of the service. Without them checkpoints are compared, but could have been forged. */
  readonly publicKeys?: readonly TrustedKey[];
  /** Checkpoints that the org has kept. */
  readonly kept?: readonly string[];
}

export interface ExportReport {
  readonly entries: number;
  readonly firstSeq: number | undefined;
  readonly lastSeq: number | undefined;
  /** Number of signed positions that the entries were compared with. */
  readonly checkpoints: number;
  /** True if the last line is a checkpoint. If it is not a valid one of the last entry, that is a finding. */
  readonly isSealed: boolean;
  readonly findings: readonly ChainFinding[];
  /** Checks that were not possible with this file alone. */
  readonly remarks: readonly string[];
}

/** Throws if the file is not an export, or ends within a line. */
export async function checkExport(
  lines: AsyncIterable<string>,
  { publicKeys = [], kept = [] }: ExportCheckOptions,
): Promise<ExportReport> {
  const open = publicKeys.length === 0 ? undefined : tokenOpener(publicKeys);
  const keptPositions = kept.map((token) => openKept(token, open));
  const check = new ChainCheck({
    start: undefined,
    checkpoints: keptPositions,
    isSigned: (entry, list, latestMs) => open === undefined || isSigned(open, entry, list, latestMs),
  });
  const forged: ChainFinding[] = [];
  let [number, entries, checkpoints, firstSeq] = [0, 0, 0, 0];
  let isSealed = false;
  let orgId: string | undefined;
  for await (const text of lines) {
    number += 1;
    const line = parseExportLine(text);
    if (line === undefined) {
      throw new Error(`line ${number} is not a line of an NDJSON export; the file may be truncated`);
    }
    isSealed = line.kind === 'checkpoint';
    if (line.kind === 'entry') {
      if (orgId === undefined) {
        orgId = line.entry.tenantId;
        requireSameLog(keptPositions, orgId);
      }
      firstSeq ||= line.entry.seq;
      entries += 1;
      check.add(line.entry);
      continue;
    }
    const position = signedPosition(line.checkpoint, orgId, open);
    if (position !== undefined) {
      checkpoints += 1;
      check.compareLast(position);
    } else {
      const message = 'The checkpoint belongs to another log, or is not signed with a given key.';
      const { seq } = line.checkpoint;
      forged.push({ kind: 'checkpoint_invalid', seq, until_seq: seq, message });
    }
  }
  const lastSeq = check.last?.seq;
  const within = keptPositions.filter(({ seq }) => seq >= firstSeq && seq <= (lastSeq ?? 0)).length;
  return {
    entries,
    firstSeq: entries === 0 ? undefined : firstSeq,
    lastSeq,
    checkpoints: checkpoints + within,
    isSealed,
    findings: [...forged, ...check.finish()],
    remarks: [
      ...(isSealed
        ? []
        : ['The file does not end with a checkpoint: entries may have been cut off at the end.']),
      ...(open === undefined ? ['Signatures were not checked. Pass the public key of the service.'] : []),
      ...(within < keptPositions.length
        ? [
            `${keptPositions.length - within} of the given checkpoints refer to entries that are not in the file.`,
          ]
        : []),
    ],
  };
}

function openKept(token: string, open: OpenToken | undefined): OpenedStatement {
  if (open === undefined) {
    throw new Error('your checkpoint can only be checked with the public key of the service');
  }
  const statement = open(token);
  if (statement?.kind !== 'checkpoint') {
    throw new Error('a given checkpoint is invalid, or not signed with a given key');
  }
  return statement;
}

function requireSameLog(kept: readonly OpenedStatement[], orgId: string): void {
  if (kept.some((statement) => statement.org_id !== orgId)) {
    throw new Error('a given checkpoint belongs to the log of another organization');
  }
}

/**
 * Returns the position that the line states. Returns undefined if the line differs from its token or belongs to another log, which
 * is only checked with keys.
 */
function signedPosition(
  { seq, hash, token }: Omit<CheckpointView, 'id'>,
  orgId: string | undefined,
  open: OpenToken | undefined,
): SignedPosition | undefined {
  if (open === undefined) {
    return { seq, hash };
  }
  const said = open(String(token));
  const isGenuine =
    said?.kind === 'checkpoint' &&
    said.seq === seq &&
    said.hash === hash &&
    (orgId ?? said.org_id) === said.org_id;
  return isGenuine ? said : undefined;
}
