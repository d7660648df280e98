import type { Database } from '../../platform/db/database.ts';
import { publicRead, type Route, read, write } from '../../platform/http/route.ts';
import { page } from '../../platform/http/schemas.ts';
import type { Ids } from '../../platform/ids.ts';
import { makeCheckpoint, viewCheckpoint } from './checkpoints.ts';
import { listCheckpoints, listEntries } from './listing.ts';
import {
  AuditEntryView,
  AuditFilters,
  CheckpointFilters,
  CheckpointView,
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
}

const reader = { kind: 'org', scope: 'audit:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'audit:write', role: 'admin' } as const;

export function auditRoutes({ db, ids, signer }: AuditDependencies): Route[] {
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
      async handler({ params, now }, tx) {
        const { checkpoint } = await makeCheckpoint(tx, { ids, signer }, params.id, now);
        // Not itself an entry: the log would never be where its checkpoint says.
        return { body: viewCheckpoint(checkpoint), changes: [] };
      },
    }),
    publicRead({
      id: 'audit.signing_key',
      path: '/v1/meta/audit-signing-key',
      summary: 'Get the public key that audit checkpoints are signed with',
      response: SigningKeyView,
      async handler() {
        const { id, pem } = await signer.publicKey();
        return { id, algorithm: 'Ed25519' as const, public_key: pem };
      },
    }),
  ];
}
