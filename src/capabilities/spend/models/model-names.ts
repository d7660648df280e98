/** Aliases and patterns of models: further names under which a model's price is found. They have no versions. */
import { apiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { invalidForm, modelNameForm } from './models.ts';
import {
  findModelNames,
  findNameOwners,
  lockModelNames,
  type ModelNamesRow,
  upsertModelNames,
} from './name-queries.ts';
import { allModels, modelPricesChanged } from './queries.ts';
import type { ModelNamesView, PutModelPrice } from './schema.ts';

export interface NamesChange {
  readonly before: ModelNamesView;
  readonly after: ModelNamesView;
  readonly changed: boolean;
}

/** Names of the catalog apply while the operator has set none. */
export function viewNames(row: ModelNamesRow | undefined): ModelNamesView {
  return {
    aliases: [...(row?.aliases ?? row?.catalog_aliases ?? [])],
    patterns: [...(row?.patterns ?? row?.catalog_patterns ?? [])],
  };
}

const noNames = { aliases: null, patterns: null, catalog_aliases: null, catalog_patterns: null };

/** Stores the names. Fields that the body leaves out are kept. Throws `conflict` if another model has one of the names. */
export async function putModelNames(
  tx: Transaction,
  now: Date,
  model: string,
  body: Pick<PutModelPrice, 'aliases' | 'patterns'>,
): Promise<NamesChange> {
  if (body.aliases === undefined && body.patterns === undefined) {
    const names = viewNames(await findModelNames(tx, model));
    return { before: names, after: names, changed: false };
  }
  checkNames(model, body);
  await lockModelNames(tx);
  const row = (await findModelNames(tx, model)) ?? { model, ...noNames };
  const next: ModelNamesRow = {
    ...row,
    aliases: body.aliases === undefined ? row.aliases : sorted(body.aliases),
    patterns: body.patterns === undefined ? row.patterns : sorted(body.patterns),
  };
  await requireFree(tx, next);
  const changed = JSON.stringify(row) !== JSON.stringify(next);
  if (changed) {
    await upsertModelNames(tx, next, now);
    await modelPricesChanged.notify(tx, allModels);
  }
  return { before: viewNames(row), after: viewNames(next), changed };
}

async function requireFree(tx: Transaction, { model, aliases, patterns }: ModelNamesRow): Promise<void> {
  const [owner] = await findNameOwners(tx, model, aliases ?? [], patterns ?? []);
  if (owner !== undefined) {
    const taken = [
      ...(aliases ?? []).filter((name) => owner.aliases?.includes(name)),
      ...(patterns ?? []).filter((name) => owner.patterns?.includes(name)),
    ];
    throw apiError('conflict', `\`${taken[0]}\` is already a name of the model \`${owner.model}\`.`);
  }
}

function checkNames(model: string, { aliases, patterns }: Pick<PutModelPrice, 'aliases' | 'patterns'>): void {
  const fieldErrors: FieldError[] = [];
  const check = (field: string, isValid: boolean, message: string) => {
    if (!isValid) {
      fieldErrors.push({ field, code: 'invalid_format', message });
    }
  };
  for (const [index, alias] of (aliases ?? []).entries()) {
    const field = `aliases[${index}]`;
    check(field, modelNameForm.test(alias), invalidForm);
    check(field, alias !== model, 'Must differ from the name of the model.');
  }
  for (const [index, pattern] of (patterns ?? []).entries()) {
    const field = `patterns[${index}]`;
    check(field, modelNameForm.test(pattern), invalidForm);
    check(field, pattern.includes('*'), 'Must contain `*`. Use an alias for a single name.');
    check(field, /[^*]/.test(pattern), 'Must contain a character besides `*`.');
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}

function sorted(names: readonly string[] | null): string[] | null {
  return names && [...new Set(names)].sort();
}
