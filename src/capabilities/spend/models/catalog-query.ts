import type { Queryable } from '../../../platform/db/database.ts';
import type { Catalog } from './catalog.ts';

/** Returns true if each model of the catalog has a price, capabilities, and the names of this catalog or a newer one. */
export async function hasCatalog(db: Queryable, { models, date }: Catalog): Promise<boolean> {
  const named = models.filter(({ aliases, patterns }) => aliases !== undefined || patterns !== undefined);
  const [row] = await db.query<{ is_whole: boolean }>(
    `WITH listed AS (SELECT model FROM unnest($1::text[]) AS l(model))
     SELECT NOT EXISTS (
              SELECT FROM listed l WHERE NOT EXISTS (SELECT FROM model_prices p WHERE p.model = l.model)
            )
        AND NOT EXISTS (
              SELECT FROM listed l WHERE NOT EXISTS (SELECT FROM model_facts f WHERE f.model = l.model)
            )
        AND NOT EXISTS (
              SELECT FROM listed l JOIN model_names m ON m.model = l.model WHERE m.catalog_date < $3
            )
        AND NOT EXISTS (
              SELECT FROM unnest($2::text[]) AS n(model)
               WHERE NOT EXISTS (SELECT FROM model_names m WHERE m.model = n.model)
            ) AS is_whole`,
    [models.map(({ model }) => model), named.map(({ model }) => model), date],
  );
  return row?.is_whole === true;
}
