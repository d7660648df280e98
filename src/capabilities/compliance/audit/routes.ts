import type { Database } from '../../../platform/db/database.ts';
import type { Access } from '../../../platform/http/routes/access.ts';
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

/** One of the two kinds of logs, and who may do what with it. Whose it is says the caller: nobody sees another one's. */
interface LogDeclaration {
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly reader: OwnAccess;
  readonly admin: OwnAccess;
}
type OwnAccess = Extract<Access, { kind: 'org' | 'operator' }>;

const orgLog: LogDeclaration = {
  id: 'audit',
  path: '/v1/orgs/{id}/audit-log',
  title: 'the audit log',
  reader: { kind: 'org', scope: 'audit:read', role: 'viewer' },
  admin: { kind: 'org', scope: 'audit:write', role: 'admin' },
};

/** What operators do outside any org, and failed attempts of nobody known. */
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
      summary: `List who did what, and who was refused, in ${title}`,
      access: reader,
      query: AuditFilters,
      response: page(AuditEntryView),
      handler: ({ caller, query }) => listEntries(db, caller.tenantId, query),
    }),
    read({
      id: `${id}.verify`,
      path: `${path}/verify`,
      summary: `Verify that ${title} is whole and unchanged`,
      description:
        'Recomputes the hash of every entry, compares with all signed checkpoints and checks that the end is authentic. Against ' +
        "somebody who has both the database and the service's key of secrets, or restores an older database, a checkpoint " +
        'that you have kept is the proof.',
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
      summary: `Sign where ${title} ends now`,
      description: 'Where nothing happened since the last checkpoint, that one is the answer.',
      access: admin,
      response: CheckpointView,
      success: 201,
      errors: ['conflict'],
      async handler({ caller, now }, tx) {
        const { checkpoint } = await makeCheckpoint(tx, { ids, heads, signer }, caller.tenantId, now);
        // Not itself an entry: the log would never be where its checkpoint says.
        return { body: viewCheckpoint(checkpoint), changes: [] };
      },
    }),
    stream({
      id: `${id}.export`,
      path: `${path}/export`,
      summary: `Export ${title} to a SIEM`,
      description:
        'A stream of lines, oldest first: JSON as in the list with what it takes to verify it (`ndjson`), the Common Event Format ' +
        '(`cef`), or events of the Open Cybersecurity Schema Framework 1.3.0 (`ocsf`). A stream that breaks off is not ' +
        'complete: go on with `cursor`, the `seq` of the last line that arrived (`cn1` in CEF, `metadata.sequence` in OCSF).',
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
      summary: 'Get the public key that audit checkpoints are signed with, and those from before',
      response: SigningKeyView,
      handler: async () => viewSigningKeys(await signer.publicKeys(db)),
    }),
    write({
      id: 'platform_audit.signing_key.rotate',
      method: 'POST',
      path: '/v1/admin/audit-signing-key/rotate',
      summary: 'Replace the key that audit checkpoints are signed with',
      description:
        'Every process signs with the new one from then on. The private half of the old one is deleted; its public half stays ' +
        'published, and what it has signed stays good. Stored keys that cannot be read are dropped; the audit entry names their ' +
        'numbers (`dropped_keys`). `conflict` after a hundred keys.',
      access: operator,
      success: 200,
      response: SigningKeyView,
      errors: ['conflict'],
      async handler({ caller, now }, tx) {
        const { current: before, unreadable } = await replaceKey(tx, signer, now);
        const { previous, ...after } = viewSigningKeys(await signer.publicKeys(tx));
        const change = {
          tenantId: caller.tenantId,
          target: { kind: 'audit_signing_key', id: after.id },
          ...(before !== undefined && { before: viewSigningKey(before) }),
          // The log need not repeat the others each time.
          after: { ...after, ...(unreadable.length > 0 && { dropped_keys: unreadable }) },
        };
        return { body: { ...after, previous }, changes: [change] };
      },
    }),
  ];
}
