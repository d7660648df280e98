/** Verifies the chain of a tenant as it is stored in the database. */
import { invalidField } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { type AuditEntry, chainStart, type SignedPosition } from './chain.ts';
import { ChainCheck, type ChainFinding } from './chain-check.ts';
import type { ChainHeads } from './chain-heads.ts';
import { findHead, type StoredHead } from './head-queries.ts';
import { findAnchor, latestCheckpoints, readEntries, type StoredToken } from './queries.ts';
import { isSigned } from './redaction.ts';
import type { VerificationView } from './schema.ts';
import {
  type ChainStatement,
  isGenuineAnchor,
  type OpenedStatement,
  type OpenToken,
  states,
  tokenOpener,
} from './signing.ts';
import type { PublicKeys, Signer } from './signing-keys.ts';

const entriesPerRead = 500;
const checkpointsMax = 1_000;

export interface VerificationDependencies {
  readonly db: Queryable;
  readonly heads: ChainHeads;
  readonly signer: Signer;
}

export interface ChainVerificationRequest {
  readonly tenantId: string;
  /** Token of a checkpoint that the org has kept. */
  readonly kept: string | undefined;
  readonly now: Date;
  readonly progress: ReportProgress;
}

export async function verifyLog(
  deps: VerificationDependencies,
  request: ChainVerificationRequest,
): Promise<VerificationView> {
  const { db, heads, signer } = deps;
  const { tenantId, kept, now, progress } = request;
  const keys = await signer.publicKeys(db);
  const open = tokenOpener([...(keys.current === undefined ? [] : [keys.current]), ...keys.previous]);
  const keptStatement = kept === undefined ? undefined : openKept(kept, tenantId, open);
  const chain = await verifyChain(db, { tenantId, heads, open, kept: keptStatement, progress });
  const verified = { ...chain, findings: [...brokenKeys(keys), ...chain.findings] };
  if (verified.findings.length > 0 && (await signer.publicKeys(db)).current?.id !== keys.current?.id) {
    // The key was rotated in the meantime, so signatures of the new key could not be checked.
    return verifyLog(deps, request);
  }
  const { seq, hash } = verified.head;
  const said = { kind: 'checkpoint', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  // The end of the chain is signed only if it passed verification.
  const token = verified.findings.length === 0 ? await signer.sign(db, said) : '';
  return view(verified, keptStatement, token);
}

function openKept(token: string, tenantId: string, open: OpenToken): OpenedStatement {
  const statement = open(token);
  if (statement?.kind !== 'checkpoint' || statement.org_id !== tenantId) {
    throw invalidField('checkpoint', 'invalid_value', 'This checkpoint was not signed for this log.');
  }
  return statement;
}

interface Checkpoints {
  readonly places: readonly SignedPosition[];
  readonly broken: readonly ChainFinding[];
}

async function readCheckpoints(db: Queryable, tenantId: string, open: OpenToken): Promise<Checkpoints> {
  const rows = await latestCheckpoints(db, tenantId, checkpointsMax);
  const places: SignedPosition[] = [];
  const broken: ChainFinding[] = [];
  const yielder = createYielder();
  for (const { seq, hash, token } of rows) {
    const position = { seq: Number(seq), hash };
    const said = open(token);
    if (states(said, 'checkpoint', tenantId, position)) {
      places.push({ ...position, notAfter: said?.notAfter });
    } else {
      broken.push(
        fault('checkpoint_invalid', position.seq, 'A stored checkpoint does not match its signature.'),
      );
    }
    await yielder.yieldIfDue();
  }
  return { places, broken };
}

interface Verified {
  readonly check: ChainCheck;
  readonly findings: readonly ChainFinding[];
  readonly head: StoredHead;
  readonly checkpoints: number;
  readonly anchor: StoredToken | undefined;
}

interface ChainRequest {
  readonly tenantId: string;
  readonly heads: ChainHeads;
  readonly open: OpenToken;
  readonly kept: OpenedStatement | undefined;
  readonly progress: ReportProgress;
}

async function verifyChain(db: Queryable, request: ChainRequest): Promise<Verified> {
  const { tenantId, heads, open, kept, progress } = request;
  const { places, broken } = await readCheckpoints(db, tenantId, open);
  const all = [...(kept === undefined ? [] : [kept]), ...places];
  const first = await findAnchor(db, tenantId);
  const start = first ?? chainStart;
  const check = new ChainCheck({
    start,
    // Entries that retention removed cannot be compared.
    checkpoints: all.filter(({ seq }) => seq >= start.seq),
    isSigned: (entry, list, latestMs) => isSigned(open, entry, list, latestMs),
  });
  const { head, anchor } = await readAll(db, tenantId, check, first, progress);
  const forged =
    anchor === undefined || isGenuineAnchor(open, tenantId, anchor)
      ? []
      : [fault('anchor_invalid', anchor.seq, 'The anchor of retention does not match its signature.')];
  const found = [...check.finish(head), ...beginning(tenantId, check.first, head)];
  const findings = [...broken, ...forged, ...found, ...forgedEnd(heads, tenantId, head, found)];
  return { check, findings, head, checkpoints: all.length, anchor };
}

/**
 * Reads all entries up to the end of the chain. Entries are appended concurrently, so the end is queried again before
 * each page, and reading continues until the last page ends there.
 */
async function readAll(
  db: Queryable,
  tenantId: string,
  check: ChainCheck,
  start: StoredToken | undefined,
  progress: ReportProgress,
): Promise<Pick<Verified, 'head' | 'anchor'>> {
  let anchor = start;
  for (let after = start?.seq ?? 0; ; ) {
    const head = await findHead(db, tenantId);
    const entries = await readEntries(db, tenantId, after, entriesPerRead);
    if (entries[0]?.seq !== after + 1) {
      // Retention runs concurrently: entries that it removed are not missing, and the rest follows its anchor.
      const moved = await findAnchor(db, tenantId);
      if (moved !== undefined && moved.seq > after) {
        anchor = moved;
        after = moved.seq;
        check.goOnFrom(moved);
        continue;
      }
    }
    for (const entry of entries) {
      check.add(entry);
    }
    const last = entries.at(-1)?.seq;
    const ahead = Math.max(0, head.seq - (last ?? head.seq));
    await progress({ done: check.checked, of: check.checked + ahead, unit: 'entries' });
    if (last === undefined || (entries.length < entriesPerRead && last === head.seq)) {
      return { head, anchor };
    }
    after = last;
  }
}

/**
 * Every log starts with the entry that created its owner. A log with another start was rewritten after all its entries
 * were removed.
 */
function beginning(tenantId: string, first: AuditEntry | undefined, head: StoredHead): ChainFinding[] {
  const action = tenantId === platformTenant ? 'operator_keys.mint' : 'orgs.create';
  const isOther =
    first === undefined ? head.seq === chainStart.seq : first.seq === 1 && first.action !== action;
  return isOther
    ? [fault('entry_missing', 1, `The log does not start with ${action}: earlier entries were removed.`)]
    : [];
}

/** Reports an end that is not authentic, unless a mismatch between the end and the entries was already found. */
function forgedEnd(
  heads: ChainHeads,
  tenantId: string,
  head: StoredHead,
  found: readonly ChainFinding[],
): ChainFinding[] {
  const isFound = found.some(({ kind }) => kind === 'tail_missing' || kind === 'head_wrong');
  return isFound || heads.isGenuine(tenantId, head)
    ? []
    : [
        fault(
          'head_invalid',
          head.seq,
          'The end of the chain is not authentic: entries after it may have been removed.',
        ),
      ];
}

/** Reports missing and unreadable keys: if such a key has signed anything, those signatures cannot be checked. */
function brokenKeys({ current, unreadable }: PublicKeys): ChainFinding[] {
  if (current === undefined && unreadable.length === 0) {
    return [fault('key_invalid', 0, 'The signing key was removed.')];
  }
  return unreadable.map((generation) =>
    fault('key_invalid', 0, `Signing key ${generation} was changed in the database.`),
  );
}

function fault(kind: ChainFinding['kind'], seq: number, message: string): ChainFinding {
  return { kind, seq, until_seq: seq, message };
}

function view(
  { check, findings, head, checkpoints, anchor }: Verified,
  kept: ChainStatement | undefined,
  token: string,
): VerificationView {
  return {
    valid: findings.length === 0,
    checked_entries: check.checked,
    first_seq: (anchor?.seq ?? 0) + 1,
    last_seq: head.seq,
    removed_until_seq: anchor?.seq ?? null,
    checkpoints_checked: checkpoints,
    kept_checkpoint:
      kept === undefined ? null : kept.seq < (anchor?.seq ?? 0) ? 'removed_by_retention' : 'checked',
    findings: [...findings],
    head: { seq: head.seq, hash: head.hash, token },
  };
}
