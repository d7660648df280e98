/** Verifies an export that was written to a file, without the service: its entries, and the checkpoints among them. */
import type { SignedPlace } from './chain.ts';
import { ChainCheck, type Finding } from './chain-check.ts';
import { parseExportLine } from './export-lines.ts';
import { isSigned } from './redaction.ts';
import type { CheckpointView } from './schema.ts';
import { type OpenToken, type TrustedKey, tokenOpener } from './signing.ts';

export interface ExportCheckOptions {
  /** The service's public keys. Without any checkpoints are compared, but anybody could have made them. */
  readonly publicKeys?: readonly TrustedKey[];
  /** Checkpoints that somebody kept. */
  readonly kept?: readonly string[];
}

export interface ExportReport {
  readonly entries: number;
  readonly firstSeq: number | undefined;
  readonly lastSeq: number | undefined;
  /** Signed places that the entries were compared with. */
  readonly checkpoints: number;
  /** Whether the last line is a checkpoint of the last entry, so that nothing can have been cut off behind it. */
  readonly isSealed: boolean;
  readonly findings: readonly Finding[];
  /** What could not be checked with this file alone. */
  readonly remarks: readonly string[];
}

/** Throws when it is no export, or the file was cut off within a line. */
export async function checkExport(
  lines: AsyncIterable<string>,
  { publicKeys = [], kept = [] }: ExportCheckOptions,
): Promise<ExportReport> {
  const open = publicKeys.length === 0 ? undefined : tokenOpener(publicKeys);
  const keptPlaces = kept.map((token) => openKept(token, open));
  const check = new ChainCheck({
    start: undefined,
    checkpoints: keptPlaces,
    isSigned: (entry, list, latestMs) => open === undefined || isSigned(open, entry, list, latestMs),
  });
  const forged: Finding[] = [];
  let [number, entries, checkpoints, firstSeq] = [0, 0, 0, 0];
  let isSealed = false;
  let orgId: string | undefined;
  for await (const text of lines) {
    number += 1;
    const line = parseExportLine(text);
    if (line === undefined) {
      throw new Error(
        `line ${number} is not a line of an export as NDJSON; a file that was cut off ends like this`,
      );
    }
    isSealed = line.kind === 'checkpoint';
    if (line.kind === 'entry') {
      orgId ??= line.entry.tenantId;
      firstSeq ||= line.entry.seq;
      entries += 1;
      check.add(line.entry);
      continue;
    }
    const place = signedPlace(line.checkpoint, orgId, open);
    if (place !== undefined) {
      checkpoints += 1;
      check.compareLast(place);
    } else {
      const message = 'The checkpoint is not of this log, or not signed with a key given.';
      const { seq } = line.checkpoint;
      forged.push({ kind: 'checkpoint_invalid', seq, until_seq: seq, message });
    }
  }
  const lastSeq = check.last?.seq;
  const within = keptPlaces.filter(({ seq }) => seq >= firstSeq && seq <= (lastSeq ?? 0)).length;
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
        : ['It does not end with a checkpoint: entries may have been cut off behind the last one.']),
      ...(open === undefined ? ['Signatures were not checked: give the public key of the service.'] : []),
      ...(within < keptPlaces.length
        ? [`${keptPlaces.length - within} of the checkpoints given are of entries that are not in the file.`]
        : []),
    ],
  };
}

function openKept(token: string, open: OpenToken | undefined): SignedPlace {
  if (open === undefined) {
    throw new Error('a checkpoint of yours can only be checked with the public key of the service');
  }
  const statement = open(token);
  if (statement === undefined) {
    throw new Error('a checkpoint given is none, or not signed with a key given');
  }
  return statement;
}

/** Undefined: it is not what was signed. */
function signedPlace(
  { seq, hash, token }: Omit<CheckpointView, 'id'>,
  orgId: string | undefined,
  open: OpenToken | undefined,
): SignedPlace | undefined {
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
