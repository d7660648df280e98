/** The values that runs of a period have in each field, for suggestions in forms: one query, instead of a report for each field. */
import { usageDimensions } from '../../../contract/run-dimensions.ts';
import { dayMs } from '../../../kernel/rollup-parts.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { findTimezone } from './queries.ts';
import { type UsageValuesQuery, type UsageValuesView, usedValuesDefault } from './series-schema.ts';
import { usageRange } from './usage.ts';

type Used = UsageValuesView['tags'][string];

interface UsedValueRow {
  readonly is_tag: boolean;
  readonly name: string;
  readonly value: string;
}

/** Reads whole days in UTC, which a suggestion does not need to be finer than. */
export async function readUsedValues(
  db: Queryable,
  orgId: string,
  query: UsageValuesQuery,
  now: Date,
): Promise<UsageValuesView> {
  const { limit = usedValuesDefault } = query;
  const requested = usageRange(query, await findTimezone(db, orgId), now);
  const from = new Date(Math.floor(requested.fromMs / dayMs) * dayMs);
  const to = new Date(Math.ceil(requested.toMs / dayMs) * dayMs);
  const rows = await db.query<UsedValueRow>(
    // Summed by the digest of the scope first, and its fields looked up on its last day: grouping many rows by all fields takes
    // three times as long.
    `WITH spent AS MATERIALIZED (
       SELECT digest, max(day) AS day, sum(usd_nanos) AS usd_nanos FROM usage_days
        WHERE org_id = $1 AND day >= $2 AND day < $3 GROUP BY digest
     ), found AS MATERIALIZED (
       SELECT ${usageDimensions.map((name) => `scope.${name}`).join(', ')}, scope.tags, spent.usd_nanos FROM spent
         JOIN usage_days scope ON scope.org_id = $1 AND scope.day = spent.day AND scope.digest = spent.digest
     ), used AS (
       ${usageDimensions.map((name) => `SELECT false AS is_tag, '${name}' AS name, ${name} AS value, sum(usd_nanos) AS cost FROM found WHERE ${name} <> '' GROUP BY ${name}`).join(' UNION ALL ')}
       UNION ALL
       SELECT true, tag.key, tag.value, sum(usd_nanos) FROM found CROSS JOIN LATERAL jsonb_each_text(tags) AS tag
        GROUP BY tag.key, tag.value
     )
     SELECT is_tag, name, value FROM (
       SELECT *, row_number() OVER (PARTITION BY is_tag, name ORDER BY cost DESC, value) AS place FROM used
     ) AS ranked WHERE place <= $4 ORDER BY is_tag, name, place`,
    [orgId, from, to, limit + 1],
  );
  const usedOf = (isTag: boolean, name: string): Used => {
    const values = rows.filter((row) => row.is_tag === isTag && row.name === name).map(({ value }) => value);
    return { values: values.slice(0, limit), more: values.length > limit };
  };
  const tagNames = [...new Set(rows.filter((row) => row.is_tag).map(({ name }) => name))];
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    fields: Object.fromEntries(
      usageDimensions.map((name) => [name, usedOf(false, name)]),
    ) as UsageValuesView['fields'],
    tags: Object.fromEntries(tagNames.map((name) => [name, usedOf(true, name)])),
  };
}
