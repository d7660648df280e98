/**
 * Attribution of a key: the member, team, customer and other labels of its decisions and runs. A locked value is enforced; other
 * values are defaults.
 */
import { type AttributionLabel, attributionLabels } from './run-dimensions.ts';

/** Fields of an attribution. Each label has one value. All are fields of decisions and runs too. */
export type AttributionField = AttributionLabel | 'tags';
export const attributionFields: readonly AttributionField[] = [...attributionLabels, 'tags'];

export type AttributionValues = { readonly [Label in AttributionLabel]?: string } & {
  readonly tags?: Readonly<Record<string, string>>;
};

export interface Attribution {
  /** Contains only fields with a value. `tags` is never empty. */
  readonly values: AttributionValues;
  readonly locked: readonly AttributionField[];
}
