/** Capacity scenarios: planned changes whose cost an organization wants to know in advance. */

import { apiError, found, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { isUniqueViolation, type Queryable, type Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { dateOf, numberOf } from './calendar.ts';
import {
  countScenarios,
  deleteScenario,
  findScenario,
  findScenarioNamed,
  type ScenarioRow,
  upsertScenario,
} from './queries.ts';
import {
  type CreateScenario,
  type PatchScenario,
  type ScenarioChanges,
  type ScenarioView,
  scenariosPerOrgMax,
} from './scenario-schema.ts';

const noScenario = 'Scenario not found.';

export function viewScenario(row: ScenarioRow): ScenarioView {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    changes: row.changes,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function createScenario(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { name, description, changes }: CreateScenario,
): Promise<ScenarioRow> {
  checkDays(changes);
  // Locks the org, so that concurrent creations cannot exceed the maximum.
  await lockOrg(tx, orgId);
  if ((await countScenarios(tx, orgId)) >= scenariosPerOrgMax) {
    throw apiError(
      'conflict',
      `The limit of ${scenariosPerOrgMax} scenarios is reached. Delete a scenario first.`,
    );
  }
  const row: ScenarioRow = {
    org_id: orgId,
    id: ids.next('scn'),
    name,
    description: description ?? null,
    changes,
    created_at: now,
    updated_at: now,
  };
  await save(tx, row);
  return row;
}

export async function changeScenario(
  tx: Transaction,
  now: Date,
  orgId: string,
  id: string,
  patch: PatchScenario,
): Promise<{ readonly before: ScenarioRow; readonly after: ScenarioRow }> {
  checkDays(patch.changes ?? {});
  await lockOrg(tx, orgId);
  const before = await requireScenario(tx, orgId, id);
  const after = { ...before, ...patch, updated_at: now };
  await save(tx, after);
  return { before, after };
}

export async function removeScenario(tx: Transaction, orgId: string, id: string): Promise<ScenarioRow> {
  await lockOrg(tx, orgId);
  const row = await requireScenario(tx, orgId, id);
  await deleteScenario(tx, orgId, id);
  return row;
}

export async function requireScenario(db: Queryable, orgId: string, id: string): Promise<ScenarioRow> {
  return found(await findScenario(db, orgId, id), noScenario);
}

export async function requireScenarioNamed(
  db: Queryable,
  orgId: string,
  idOrName: string,
): Promise<ScenarioRow> {
  return found(await findScenarioNamed(db, orgId, idOrName), noScenario);
}

async function save(tx: Transaction, row: ScenarioRow): Promise<void> {
  try {
    await upsertScenario(tx, row);
  } catch (error) {
    throw isUniqueViolation(error, 'capacity_scenarios_name')
      ? apiError('conflict', 'Another scenario has this name.')
      : error;
  }
}

/** Rejects days that do not exist, and periods that end before they start. */
function checkDays({ price_changes = [], seasonality, new_deployment }: ScenarioChanges): void {
  const periods = seasonality?.periods ?? [];
  const given: [string, string | undefined][] = [
    ...price_changes.map(({ from }, index): [string, string | undefined] => [
      `changes.price_changes[${index}].from`,
      from,
    ]),
    ...periods.flatMap(({ from, to }, index): [string, string][] => [
      [`changes.seasonality.periods[${index}].from`, from],
      [`changes.seasonality.periods[${index}].to`, to],
    ]),
    ['changes.new_deployment.starts_on', new_deployment?.starts_on],
  ];
  const fieldErrors: FieldError[] = given
    .filter(([, text]) => text !== undefined && !isDay(text))
    .map(([field]) => ({ field, code: 'invalid_format', message: 'This day does not exist.' }));
  for (const [index, { from, to }] of periods.entries()) {
    if (isDay(from) && isDay(to) && to < from) {
      const message = 'Must not be before `from`.';
      fieldErrors.push({ field: `changes.seasonality.periods[${index}].to`, code: 'out_of_range', message });
    }
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}

function isDay(text: string): boolean {
  const number = numberOf(text);
  return Number.isFinite(number) && dateOf(number) === text;
}
