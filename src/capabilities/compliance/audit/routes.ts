import type { Database } from '../../../platform/db/database.ts';
import type { Access } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { publicRead, type Route, read, stream, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Appending } from './audit.ts';
import { makeCheckpoint, viewCheckpoint } from './checkpoints.ts';
import { exportLog } from './export.ts';
import { listCheckpoints, listEntries } from './listing.ts';
import { replaceKey } from './rotation.ts';
import {
  AuditEntryView,
  AuditFilters,
  CheckpointFilters,
  CheckpointView,
  ExportQuery,
  SigningKeyView,
  VerificationView,
  VerifyQuery,
} from './schema.ts';
import type { Signer } from './signing-keys.ts';
import { verifyLog } from './verification.ts';
import { viewSigningKey, viewSigningKeys } from './view.ts';

export interface AuditDependencies extends Appending {
  readonly db: Database;
  readonly signer: Signer;
  readonly softwareVersion: string;
}

const operator = { kind: 'operator' } as const;

export function auditRoutes(deps: AuditDependencies): Route[] {
  return [...logRoutes(deps, orgLog), ...logRoutes(deps, platformLog), ...signingKeyRoutes(deps)];
}

/**
 * One of the two kinds of audit log, with the scopes it needs. The tenant comes from the caller's credential, so a log
 * is visible to its owner only.
 */
interface LogDeclaration {
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly reader: LogAccess;
  readonly admin: LogAccess;
}
type LogAccess = Extract<Access, { kind: 'org' | 'operator' }>;

const orgLog: LogDeclaration = {
  id: 'audit',
  path: '/v1/orgs/{id}/audit-log',
  title: 'the audit log',
  reader: { kind: 'org', scope: 'audit:read', role: 'viewer' },
  admin: { kind: 'org', scope: 'audit:write', role: 'admin' },
};

/** Log of operator actions outside any org, and of failed attempts by unknown callers. */
const platformLog: LogDeclaration = {
  id: 'platform_audit',
  path: '/v1/admin/audit-log',
  title: "the operators' audit log",
  reader: operator,
  admin: operator,
};

function logRoutes(
  { db, ids, heads, signer, softwareVersion }: AuditDependencies,
  { id, path, title, reader, admin }: LogDeclaration,
): Route[] {
  return [
    read({
      id: `${id}.list`,
      path,
      summary: `List the actions and rejected attempts in ${title}`,
      access: reader,
      query: AuditFilters,
      response: page(AuditEntryView),
      handler: ({ caller, query }) => listEntries(db, caller.tenantId, query),
    }),
    read({
      id: `${id}.verify`,
      path: `${path}/verify`,
      summary: `Verify the integrity of ${title}`,
      description:
        'Recomputes the hash of every entry, compares the latest 1,000 signed checkpoints and checks that the end is authentic. ' +
        'Against an attacker who has both the database and the encryption key, or who restores an older database, ' +
        'only a checkpoint that you have kept is proof.',
      access: reader,
      query: VerifyQuery,
      response: VerificationView,
      handler: ({ caller, query, now, progress }) =>
        verifyLog(
          { db, heads, signer },
          { tenantId: caller.tenantId, kept: query.checkpoint, now, progress },
        ),
    }),
    read({
      id: `${id}.checkpoints.list`,
      path: `${path}/checkpoints`,
      summary: `List the signed checkpoints of ${title}`,
      access: reader,
      query: CheckpointFilters,
      response: page(CheckpointView),
      handler: ({ caller, query }) => listCheckpoints(db, caller.tenantId, query),
    }),
    write({
      id: `${id}.checkpoints.create`,
      method: 'POST',
      path: `${path}/checkpoints`,
      summary: `Create a signed checkpoint of ${title}`,
      description: 'If nothing was appended since the last checkpoint, that checkpoint is returned.',
      access: admin,
      response: CheckpointView,
      success: 201,
      errors: ['conflict'],
      async handler({ caller, now }, tx) {
        const { checkpoint } = await makeCheckpoint(tx, { ids, heads, signer }, caller.tenantId, now);
        // A checkpoint is not recorded as an entry: otherwise it would never be at the end of the log.
        return { body: viewCheckpoint(checkpoint), changes: [] };
      },
    }),
    stream({
      id: `${id}.export`,
      path: `${path}/export`,
      summary: `Export ${title} to a SIEM`,
      description:
        'Streams lines, oldest first: JSON as in the list plus everything needed for verification (`ndjson`), the ' +
        'Common Event Format (`cef`), or events of the Open Cybersecurity Schema Framework 1.3.0 (`ocsf`). If the ' +
        'stream is interrupted, the export is incomplete: resume with `cursor` set to the `seq` of the last line ' +
        'received (`cn1` in CEF, `metadata.sequence` in OCSF).',
      access: reader,
      query: ExportQuery,
      contentTypes: ['application/x-ndjson', 'text/plain'],
      handler: async ({ caller, query, now }) =>
        exportLog({ db, heads, signer, version: softwareVersion }, caller.tenantId, query, now),
    }),
  ];
}

function signingKeyRoutes({ db, signer }: AuditDependencies): Route[] {
  return [
    publicRead({
      id: 'audit.signing_key',
      path: '/v1/meta/audit-signing-key',
      summary: 'Get the current and previous public keys that sign audit checkpoints',
      response: SigningKeyView,
      handler: async () => viewSigningKeys(await signer.publicKeys(db)),
    }),
    write({
      id: 'platform_audit.signing_key.rotate',
      method: 'POST',
      path: '/v1/admin/audit-signing-key/rotate',
      summary: 'Rotate the key that signs audit checkpoints',
      description:
        'Every process signs with the new key from then on. The private half of the old key is deleted; its public ' +
        'half stays published, and its signatures stay valid. Stored keys that cannot be read are dropped; the ' +
        'audit entry lists their numbers (`dropped_keys`). Returns `conflict` after 100 keys.',
      access: operator,
      response: SigningKeyView,
      errors: ['conflict'],
      async handler({ caller, now }, tx) {
        const { current: before, unreadable } = await replaceKey(tx, signer, now);
        const { previous, ...after } = viewSigningKeys(await signer.publicKeys(tx));
        const views = {
          before: before && viewSigningKey(before),
          // `after` does not include the previous keys: the log need not repeat them each time.
          after: { ...after, ...(unreadable.length > 0 && { dropped_keys: unreadable }) },
        };
        const change = changeOf('audit_signing_key', { org_id: caller.tenantId, id: after.id }, views);
        return { body: { ...after, previous }, changes: [change] };
      },
    }),
  ];
}
