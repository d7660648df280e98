import { type Static, Type } from 'typebox';
import { closed } from '../../../platform/http/routes/schemas.ts';

export const RotateSecrets = closed({
  cursor: Type.Optional(
    Type.String({
      maxLength: 1_000,
      description: '`next_cursor` of the previous response. Without it a pass starts.',
    }),
  ),
});

export const RotationStepView = closed({
  key_id: Type.String({ description: 'Id of the key that encrypts from now on.' }),
  complete: Type.Boolean({ description: 'True once nothing is encrypted with another key.' }),
  seen: Type.Integer({ minimum: 0, description: 'Values that were checked in this pass so far.' }),
  reencrypted: Type.Integer({
    minimum: 0,
    description: 'Values that were encrypted again in this pass so far.',
  }),
  unreadable: Type.Integer({
    minimum: 0,
    description: 'Values in this pass that no key decrypts. They stay as they are.',
  }),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
});
export type RotationStepView = Static<typeof RotationStepView>;
