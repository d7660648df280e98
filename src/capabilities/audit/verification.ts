/** Verifies the chain of a tenant as it stands in the database. */
import { refuseField } from '../../contract/refusal.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { type ChainPlace, chainStart } from './chain.ts';
import { ChainCheck, type Finding } from './chain-check.ts';
import { signHead } from './checkpoints.ts';
import { findAnchor, findHead, latestCheckpoints, readEntries, type StoredToken } from './queries.ts';
import type { VerificationView } from './schema.ts';
import { openToken, type Signer, type Statement } from './signing.ts';

const entriesPerRead = 500;
const checkpointsMax = 1_000;
const attempts = 3;

export interface VerificationDependencies {
  readonly db: Queryable;
  readonly signer: Signer;
}

export interface VerificationRequest {
  readonly tenantId: string;
  /** The token of a checkpoint that somebody kept. */
  readonly kept: string | undefined;
  readonly now: Date;
}

export async function verifyLog(
  { db, signer }: VerificationDependencies,
  { tenantId, kept, now }: VerificationRequest,
): Promise<VerificationView> {
  const { pem } = signer.publicKey;
  const keptStatement = kept === undefined ? undefined : openKept(kept, tenantId, pem);
  for (let left = attempts - 1; ; left -= 1) {
    const anchor = await findAnchor(db, tenantId);
    const verified = await verifyOnce(db, tenantId, pem, anchor, keptStatement);
    // Retention may have removed entries before they were read; then what was found missing is not.
    const moved = (await findAnchor(db, tenantId))?.seq !== anchor?.seq;
    if (left === 0 || !moved || verified.findings.length === 0) {
      const { token } = await signHead(db, signer, tenantId, now);
      return view(verified, anchor, keptStatement, token);
    }
  }
}

function openKept(token: string, tenantId: string, pem: string): Statement {
  const statement = openToken(token, pem);
  if (statement?.kind !== 'checkpoint' || statement.org_id !== tenantId) {
    throw refuseField(
      'checkpoint',
      'invalid_value',
      'This is not a checkpoint that was signed for this log.',
    );
  }
  return statement;
}

interface Verified {
  readonly check: ChainCheck;
  readonly findings: readonly Finding[];
  readonly head: ChainPlace;
  readonly checkpoints: number;
}

async function verifyOnce(
  db: Queryable,
  tenantId: string,
  pem: string,
  anchor: StoredToken | undefined,
  kept: Statement | undefined,
): Promise<Verified> {
  const stored = await latestCheckpoints(db, tenantId, checkpointsMax);
  const broken: Finding[] = [];
  const places: ChainPlace[] = kept === undefined ? [] : [kept];
  for (const { seq, hash, token } of stored) {
    const place = { seq: Number(seq), hash };
    if (states(token, pem, 'checkpoint', tenantId, place)) {
      places.push(place);
    } else {
      broken.push(fault('checkpoint_invalid', place.seq, 'A stored checkpoint is not what was signed.'));
    }
  }
  if (anchor !== undefined && !states(anchor.token, pem, 'anchor', tenantId, anchor)) {
    broken.push(fault('anchor_invalid', anchor.seq, 'Where retention ended is not what was signed.'));
  }
  // What retention has removed cannot be compared any more.
  const start = anchor ?? chainStart;
  const check = new ChainCheck({ start, checkpoints: places.filter(({ seq }) => seq >= start.seq) });
  const head = await readAll(db, tenantId, check, start.seq);
  check.refuseOpenRedactions();
  return { check, findings: [...broken, ...check.finish(head)], head, checkpoints: places.length };
}

/** Everything that is there, to the end that the chain names; that is asked last, since entries are appended meanwhile. */
async function readAll(
  db: Queryable,
  tenantId: string,
  check: ChainCheck,
  startSeq: number,
): Promise<ChainPlace> {
  for (let after = startSeq; ; ) {
    const head = (await findHead(db, tenantId)) ?? chainStart;
    const entries = await readEntries(db, tenantId, after, entriesPerRead);
    for (const entry of entries) {
      check.add(entry);
    }
    const last = entries.at(-1)?.seq;
    if (last === undefined || (entries.length < entriesPerRead && last === head.seq)) {
      return head;
    }
    after = last;
  }
}

function states(
  token: string,
  pem: string,
  kind: Statement['kind'],
  tenantId: string,
  { seq, hash }: ChainPlace,
): boolean {
  const said = openToken(token, pem);
  return said?.kind === kind && said.org_id === tenantId && said.seq === seq && said.hash === hash;
}

function fault(kind: Finding['kind'], seq: number, message: string): Finding {
  return { kind, seq, until_seq: seq, message };
}

function view(
  { check, findings, head, checkpoints }: Verified,
  anchor: StoredToken | undefined,
  kept: Statement | undefined,
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
