/** Verifies the chain of a tenant as it stands in the database. */
import type { KeyObject } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { refuseField } from '../../contract/refusal.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { type ChainPlace, chainStart } from './chain.ts';
import { ChainCheck, type Finding } from './chain-check.ts';
import { findAnchor, findHead, latestCheckpoints, readEntries, type StoredToken } from './queries.ts';
import { isSignedBy } from './redaction.ts';
import type { VerificationView } from './schema.ts';
import { openToken, readPublicKey, type Signer, type Statement } from './signing.ts';

const entriesPerRead = 500;
const checkpointsMax = 1_000;
const attempts = 5;
const signaturesPerTurn = 20;

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
  const publicKey = readPublicKey(signer.publicKey.pem);
  const keptStatement = kept === undefined ? undefined : openKept(kept, tenantId, publicKey);
  const stored = await readCheckpoints(db, tenantId, publicKey);
  for (let left = attempts - 1; ; left -= 1) {
    const verified = await verifyOnce(db, tenantId, publicKey, stored, keptStatement);
    // Retention may have removed entries before they were read; then what was found missing is not.
    const moved = (await findAnchor(db, tenantId))?.seq !== verified.anchor?.seq;
    if (left === 0 || !moved || verified.findings.length === 0) {
      return view(verified, keptStatement, signer, tenantId, now);
    }
  }
}

function openKept(token: string, tenantId: string, publicKey: KeyObject): Statement {
  const statement = openToken(token, publicKey);
  if (statement?.kind !== 'checkpoint' || statement.org_id !== tenantId) {
    throw refuseField(
      'checkpoint',
      'invalid_value',
      'This is not a checkpoint that was signed for this log.',
    );
  }
  return statement;
}

interface Checkpoints {
  readonly places: readonly ChainPlace[];
  readonly broken: readonly Finding[];
}

async function readCheckpoints(db: Queryable, tenantId: string, publicKey: KeyObject): Promise<Checkpoints> {
  const rows = await latestCheckpoints(db, tenantId, checkpointsMax);
  const places: ChainPlace[] = [];
  const broken: Finding[] = [];
  for (const [index, { seq, hash, token }] of rows.entries()) {
    const place = { seq: Number(seq), hash };
    if (states(token, publicKey, 'checkpoint', tenantId, place)) {
      places.push(place);
    } else {
      broken.push(fault('checkpoint_invalid', place.seq, 'A stored checkpoint is not what was signed.'));
    }
    if (index % signaturesPerTurn === signaturesPerTurn - 1) {
      await nextTurn();
    }
  }
  return { places, broken };
}

interface Verified {
  readonly check: ChainCheck;
  readonly findings: readonly Finding[];
  readonly head: ChainPlace;
  readonly checkpoints: number;
  readonly anchor: StoredToken | undefined;
}

async function verifyOnce(
  db: Queryable,
  tenantId: string,
  publicKey: KeyObject,
  { places, broken }: Checkpoints,
  kept: Statement | undefined,
): Promise<Verified> {
  // Right before the first entries are read: retention goes on meanwhile.
  const anchor = await findAnchor(db, tenantId);
  const start = anchor ?? chainStart;
  const all = [...(kept === undefined ? [] : [kept]), ...places];
  const check = new ChainCheck({
    start,
    // What retention has removed cannot be compared any more.
    checkpoints: all.filter(({ seq }) => seq >= start.seq),
    isSigned: (entry, list) => isSignedBy(publicKey, entry, list),
  });
  const head = await readAll(db, tenantId, check, start.seq);
  const forged =
    anchor === undefined || states(anchor.token, publicKey, 'anchor', tenantId, anchor)
      ? []
      : [fault('anchor_invalid', anchor.seq, 'Where retention ended is not what was signed.')];
  const findings = [...broken, ...forged, ...check.finish(head)];
  return { check, findings, head, checkpoints: all.length, anchor };
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
  publicKey: KeyObject,
  kind: Statement['kind'],
  tenantId: string,
  { seq, hash }: ChainPlace,
): boolean {
  const said = openToken(token, publicKey);
  return said?.kind === kind && said.org_id === tenantId && said.seq === seq && said.hash === hash;
}

function fault(kind: Finding['kind'], seq: number, message: string): Finding {
  return { kind, seq, until_seq: seq, message };
}

/** Only an end that was found to be right is signed. */
function view(
  { check, findings, head, checkpoints, anchor }: Verified,
  kept: Statement | undefined,
  signer: Signer,
  tenantId: string,
  now: Date,
): VerificationView {
  const { seq, hash } = head;
  const said = { kind: 'checkpoint', org_id: tenantId, seq, hash, at: now.toISOString() } as const;
  return {
    valid: findings.length === 0,
    checked_entries: check.checked,
    first_seq: (anchor?.seq ?? 0) + 1,
    last_seq: seq,
    removed_until_seq: anchor?.seq ?? null,
    checkpoints_checked: checkpoints,
    kept_checkpoint:
      kept === undefined ? null : kept.seq < (anchor?.seq ?? 0) ? 'removed_by_retention' : 'checked',
    findings: [...findings],
    head: { seq, hash, token: findings.length === 0 ? signer.sign(said) : '' },
  };
}
