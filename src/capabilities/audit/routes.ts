import type { Database } from '../../platform/db/database.ts';
import { publicRead, type Route, read, stream, write } from '../../platform/http/route.ts';
import { page } from '../../platform/http/schemas.ts';
import type { Ids } from '../../platform/ids.ts';
import { makeCheckpoint, viewCheckpoint } from './checkpoints.ts';
import { exportLog } from './export.ts';
import { listCheckpoints, listEntries } from './listing.ts';
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
import type { Signer } from './signing.ts';
import { verifyLog } from './verification.ts';

export interface AuditDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly signer: Signer;
  readonly softwareVersion: string;
}

const reader = { kind: 'org', scope: 'audit:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'audit:write', role: 'admin' } as const;

export function auditRoutes({ db, ids, signer, softwareVersion }: AuditDependencies): Route[] {
  return [
    read({
      id: 'audit.list',
      path: '/v1/orgs/{id}/audit-log',
      summary: 'List who did what, and who was refused',
      access: reader,
      query: AuditFilters,
      response: page(AuditEntryView),
      handler: ({ params, query }) => listEntries(db, params.id, query),
    }),
    read({
      id: 'audit.verify',
      path: '/v1/orgs/{id}/audit-log/verify',
      summary: 'Verify that the audit log is whole and unchanged',
      description:
        'Recomputes the hash of every entry and compares with all signed checkpoints. That the end was cut off, or everything ' +
        'written anew, by somebody who can write to the database shows for sure only against a checkpoint that you have kept.',
      access: reader,
      query: VerifyQuery,
      response: VerificationView,
      handler: ({ params, query, now }) =>
        verifyLog({ db, signer }, { tenantId: params.id, kept: query.checkpoint, now }),
    }),
    read({
      id: 'audit.checkpoints.list',
      path: '/v1/orgs/{id}/audit-log/checkpoints',
      summary: 'List the signed checkpoints of the audit log',
      access: reader,
      query: CheckpointFilters,
      response: page(CheckpointView),
      handler: ({ params, query }) => listCheckpoints(db, params.id, query),
    }),
    write({
      id: 'audit.checkpoints.create',
      method: 'POST',
      path: '/v1/orgs/{id}/audit-log/checkpoints',
      summary: 'Sign where the audit log ends now',
      description: 'Where nothing happened since the last checkpoint, that one is the answer.',
      access: admin,
      response: CheckpointView,
      success: 201,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const { checkpoint } = await makeCheckpoint(tx, { ids, signer }, params.id, now);
        // Not itself an entry: the log would never be where its checkpoint says.
        return { body: viewCheckpoint(checkpoint), changes: [] };
      },
    }),
    stream({
      id: 'audit.export',
      path: '/v1/orgs/{id}/audit-log/export',
      summary: 'Export the audit log to a SIEM',
      description:
        'A stream of lines, oldest first: JSON as in the list with what it takes to verify it (`ndjson`), the Common Event Format ' +
        '(`cef`), or events of the Open Cybersecurity Schema Framework 1.3.0 (`ocsf`). A stream that breaks off is not ' +
        'complete: go on with `cursor`, the `seq` of the last line that arrived (`cn1` in CEF, `metadata.sequence` in OCSF).',
      access: reader,
      query: ExportQuery,
      contentTypes: ['application/x-ndjson', 'text/plain'],
      handler: async ({ params, query, now }) =>
        exportLog({ db, signer, version: softwareVersion }, params.id, query, now),
    }),
    publicRead({
      id: 'audit.signing_key',
      path: '/v1/meta/audit-signing-key',
      summary: 'Get the public key that audit checkpoints are signed with',
      response: SigningKeyView,
      async handler() {
        const { id, pem } = signer.publicKey;
        return { id, algorithm: 'Ed25519' as const, public_key: pem };
      },
    }),
  ];
}
