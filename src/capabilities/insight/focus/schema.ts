import { type Static, Type } from 'typebox';
import { type UsageDimension, usageDimensions } from '../../../contract/run-dimensions.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import { choice, closed, timestamp } from '../../../platform/http/routes/schemas.ts';
import { runConditions, spans } from '../usage/index.ts';

/** Dimensions that every row is grouped by, and the status, which the ledger's corrections do not have. */
const notGroupedBy: readonly UsageDimension[] = ['provider', 'model', 'status'];
export const focusDimensions = usageDimensions.filter((name) => !notGroupedBy.includes(name));
export const dimensionsMax = 8;

export const focusFormats = ['csv', 'parquet'] as const;
export type FocusFormat = (typeof focusFormats)[number];

export const focusVersions = ['1.2', '1.4'] as const;
export type VersionName = (typeof focusVersions)[number];

export const FocusQuery = closed({
  group_by: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        `Up to ${dimensionsMax} of ${[...focusDimensions, `${tagPrefix}<name>`].join(', ')}, separated by commas, in ` +
        'addition to provider and model. The first becomes the sub account, all become tags. Also one of ' +
        `${spans.join(', ')}: the length of a charge period, in UTC. Default: day.`,
      examples: ['team', 'department,tag:environment,month'],
    }),
  ),
  from: Type.Optional(
    Type.String({
      ...timestamp,
      description:
        'RFC 3339 with offset; rounded down to 15 minutes. Default: 30 days before `to`, at the start of that day ' +
        'in UTC.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      ...timestamp,
      description: 'Exclusive; rounded up to 15 minutes. At most 366 days after `from`. Default: now.',
    }),
  ),
  ...runConditions,
  format: Type.Optional(choice(focusFormats, 'Default: csv.')),
  version: Type.Optional(
    choice(
      focusVersions,
      'Version of FOCUS. 1.2 has a row for all kinds of usage, 1.4 a row for each kind. Default: 1.2.',
    ),
  ),
});
export type FocusQuery = Static<typeof FocusQuery>;
