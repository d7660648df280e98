/**
 * Attribution of a key: the member, team, customer and so on that its decisions and runs are for. A locked value is
 * fixed; the others are defaults.
 */
import { type AttributionLabel, attributionLabels } from './run-dimensions.ts';

/** The labels have one value each. All are fields of decisions and runs. */
export type AttributionField = AttributionLabel | 'tags';
export const attributionFields: readonly AttributionField[] = [...attributionLabels, 'tags'];

export type AttributionValues = { readonly [Label in AttributionLabel]?: string } & {
  readonly tags?: Readonly<Record<string, string>>;
};

export interface Attribution {
  /** Only the fields that have a value; `tags` is not empty. */
  readonly values: AttributionValues;
  readonly locked: readonly AttributionField[];
}
