/**
 * Attribution of a key: the member, team, customer and so on that its decisions and runs are for. A locked value is
 * fixed; the others are defaults.
 */
import type { LabelDimension } from './run-dimensions.ts';

/** The fields with one value. Each is a field of decisions and runs. */
export const attributionLabels = [
  'member_id',
  'team',
  'department',
  'workflow',
  'deployment',
  'customer_id',
] as const satisfies readonly LabelDimension[];
export type AttributionLabel = (typeof attributionLabels)[number];

export const attributionFields = [...attributionLabels, 'tags'] as const;
export type AttributionField = (typeof attributionFields)[number];

export type AttributionValues = { readonly [Label in AttributionLabel]?: string } & {
  readonly tags?: Readonly<Record<string, string>>;
};

export interface Attribution {
  /** Only the fields that have a value; `tags` is not empty. */
  readonly values: AttributionValues;
  readonly locked: readonly AttributionField[];
}
