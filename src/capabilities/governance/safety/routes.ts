import type { Database } from '../../../platform/db/database.ts';
import { changed, changeOf, created } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, posting, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  allDetectors,
  changeDetector,
  createDetector,
  type DetectorName,
  removeDetector,
  requireDetector,
  viewDetector,
} from './detectors.ts';
import { testContent } from './dry-run.ts';
import { detectorPage } from './listing.ts';
import type { Safety } from './safety.ts';
import {
  CreateDetector,
  DetectorFilters,
  DetectorView,
  PatchDetector,
  TestContent,
  TestResult,
} from './schema.ts';

export interface SafetyDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly safety: Safety;
}

const reader = { kind: 'org', scope: 'policies:read', role: 'viewer' } as const;
const tester = { kind: 'org', scope: 'policies:read', role: 'member' } as const;
const admin = { kind: 'org', scope: 'policies:write', role: 'admin' } as const;

export function safetyRoutes({ db, ids, safety }: SafetyDependencies): Route[] {
  return [
    write({
      id: 'safety_detectors.create',
      method: 'POST',
      path: '/v1/orgs/{id}/safety-detectors',
      summary: 'Create a safety detector',
      description:
        'Searches for a regular expression or a list of words in the `content` of runs. At most 50 per organization, of which ' +
        '20 regular expressions.',
      access: admin,
      body: CreateDetector,
      bodyLimitBytes: bodyLimits.lists,
      success: 201,
      response: DetectorView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await createDetector(tx, ids, now, params.id, body);
        return created('safety_detector', row, viewDetector);
      },
    }),
    read({
      id: 'safety_detectors.list',
      path: '/v1/orgs/{id}/safety-detectors',
      summary: 'List safety detectors',
      access: reader,
      query: DetectorFilters,
      response: page(DetectorView),
      handler: async ({ params, query }) => detectorPage(await allDetectors(db, params.id), query),
    }),
    read({
      id: 'safety_detectors.read',
      path: '/v1/orgs/{id}/safety-detectors/{detector_id}',
      summary: 'Read a safety detector',
      access: reader,
      response: DetectorView,
      handler: async ({ params }) => viewDetector(await requireDetector(db, detectorName(params))),
    }),
    write({
      id: 'safety_detectors.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/safety-detectors/{detector_id}',
      summary: 'Change a safety detector',
      description:
        'Only `enabled`, `action` and `threshold` of a built-in detector can be changed. Applies to the next run.',
      access: admin,
      body: PatchDetector,
      bodyLimitBytes: bodyLimits.lists,
      response: DetectorView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const change = await changeDetector(tx, now, detectorName(params), body);
        return changed('safety_detector', change, viewDetector);
      },
    }),
    write({
      id: 'safety_detectors.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/safety-detectors/{detector_id}',
      summary: 'Delete a custom safety detector',
      access: admin,
      errors: ['conflict'],
      async handler({ params }, tx) {
        const row = await removeDetector(tx, detectorName(params));
        return { body: {}, changes: [changeOf('safety_detector', row, { before: viewDetector(row) })] };
      },
    }),
    // A test changes nothing and so has no audit entry. Only the response is stored for an idempotency key.
    posting({
      id: 'safety_detectors.test',
      method: 'POST',
      path: '/v1/orgs/{id}/safety-detectors/test',
      summary: 'Test the safety detectors',
      description:
        'Returns the matches of all detectors, including disabled ones, and the verdict for a run with this content. ' +
        'Nothing is stored except the response for an `Idempotency-Key`, encrypted under a key derived from it.',
      access: tester,
      body: TestContent,
      bodyLimitBytes: bodyLimits.content,
      response: TestResult,
      async handler({ params, body }, storeResponse) {
        const result = await testContent(safety, params.id, body);
        if (storeResponse !== undefined) {
          await db.transaction((tx) => storeResponse(tx, result));
        }
        return result;
      },
    }),
  ];
}

function detectorName({ id, detector_id }: { id: string; detector_id: string }): DetectorName {
  return { orgId: id, id: detector_id };
}
