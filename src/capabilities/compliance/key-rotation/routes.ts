import type { Database, Transaction } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import {
  type Change,
  type HandlerContext,
  posting,
  type Route,
} from '../../../platform/http/routes/route.ts';
import type { RotatableSecrets } from '../../../platform/secrets/secrets.ts';
import { rotateStep } from './rotation.ts';
import { RotateSecrets, RotationStepView } from './schema.ts';

export interface KeyRotationDependencies {
  readonly db: Database;
  readonly secrets: RotatableSecrets;
  /** The key file; undefined if the keys come from the setting. */
  readonly keyFile: string | undefined;
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

export function keyRotationRoutes(deps: KeyRotationDependencies): Route[] {
  return [
    posting({
      id: 'secrets.rotate',
      method: 'POST',
      path: '/v1/admin/secrets/rotate',
      summary: 'Encrypt stored secrets with the first key of SVC_SECRETS_KEY',
      description:
        'Does a part of the work; call it again with `next_cursor` until `complete`, as `purser secrets rotate` does. ' +
        'Returns `conflict` while a running process still encrypts with another key.',
      access: { kind: 'operator' },
      body: RotateSecrets,
      bodyOptional: true,
      response: RotationStepView,
      errors: ['conflict'],
      async handler(call, storeResponse) {
        const step = await rotateStep(deps, call.body.cursor);
        if (step.complete || storeResponse !== undefined) {
          await deps.db.transaction(async (tx) => {
            if (step.complete) {
              const { key_id } = step;
              const change = changeOf('secrets_key', { org_id: null, id: key_id }, { after: { key_id } });
              await deps.recordChange(tx, call as unknown as HandlerContext, 'secrets.rotate', change);
            }
            await storeResponse?.(tx, step);
          });
        }
        return step;
      },
    }),
  ];
}
