/** Plans a section: matches the items of the file with the resources of the organization. */
import type { FieldError } from '../../../contract/errors.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import { differences, type FieldChange, isSameValue } from './compare.ts';
import { groupBy } from './group-by.ts';
import {
  completeItem,
  type FileFields,
  type FileSection,
  type ListSection,
  pick,
  type Resource,
} from './section.ts';

interface ResourceStep {
  readonly section: FileSection;
  /** Name of the resource in a plan. */
  readonly name: string;
}

interface WantedChange extends ResourceStep {
  /** Where the item is in the file, such as `budgets[1]`. */
  readonly path: string;
  readonly item: FileFields;
  readonly fieldChanges: readonly FieldChange[];
}

export interface Creation extends WantedChange {
  readonly action: 'create';
}

export interface Update extends WantedChange {
  readonly action: 'update';
  readonly resource: Resource;
  /** The wanted values of the fields that differ. */
  readonly changed: FileFields;
  readonly wanted: FileFields;
}

export interface Deletion extends ResourceStep {
  readonly action: 'delete';
  readonly resource: Resource;
}

export type ResourceChange = Creation | Update | Deletion;

export interface SectionPlan {
  readonly section: FileSection;
  readonly changes: readonly ResourceChange[];
  readonly unchanged: number;
  /** Resources that the file does not have, and that are not deleted. */
  readonly notInFile: readonly { readonly name: string; readonly resource: Resource }[];
  readonly fieldErrors: readonly FieldError[];
}

export interface SectionPlanOptions {
  readonly prune: boolean;
  /** Items whose resource has ended by itself. */
  readonly ended: readonly FileFields[] | undefined;
}

interface FileItem {
  readonly path: string;
  readonly item: FileFields;
  readonly hasEnded: boolean;
}

/** `given` is the value of the section in the file. */
export function planSection(
  section: FileSection,
  given: unknown,
  resources: readonly Resource[],
  options: SectionPlanOptions,
): SectionPlan {
  const ended = new Set(options.ended);
  const items: FileItem[] =
    section.shape === 'list'
      ? (given as readonly FileFields[]).map((item, index) => ({
          path: `${section.name}[${index}]`,
          item,
          hasEnded: ended.has(item),
        }))
      : given === null
        ? []
        : [{ path: section.name, item: given as FileFields, hasEnded: false }];
  const fieldErrors: FieldError[] = [];
  const { pairs, rest } =
    section.shape === 'list'
      ? matchItems(section, items, resources, fieldErrors)
      : {
          pairs: items.map((item) => ({ ...item, resource: resources[0] })),
          rest: items.length > 0 ? [] : resources,
        };
  const planned = pairs.map((pair) => planItem(section, pair, options, fieldErrors));
  const removable = section.remove === undefined ? [] : rest.filter(({ isKept }) => isKept !== true);
  const named = removable.map((resource) => ({ name: resourceName(section, resource.fields), resource }));
  return {
    section,
    // Deletions before creations, so that a maximum number of resources is not exceeded in between.
    changes: [
      ...planned.filter((change) => change?.action === 'update'),
      ...(options.prune ? named.map((one): Deletion => ({ action: 'delete', section, ...one })) : []),
      ...planned.filter((change) => change?.action === 'create'),
    ].filter((change) => change !== undefined),
    unchanged: planned.filter((change) => change === undefined).length,
    notInFile: options.prune ? [] : named,
    fieldErrors,
  };
}

/** Returns the change that the item needs; undefined if it needs none. */
function planItem(
  section: FileSection,
  { path, item, hasEnded, resource }: FileItem & { readonly resource: Resource | undefined },
  options: SectionPlanOptions,
  fieldErrors: FieldError[],
): Creation | Update | undefined {
  const wanted = completeItem(section, item, resource, options);
  const step = { section, name: resourceName(section, wanted), path, item };
  if (resource === undefined) {
    if (hasEnded) {
      return undefined;
    }
    return { action: 'create', ...step, fieldChanges: createdFields(section, item) };
  }
  // In the order of the file, and then the fields that it leaves out.
  const changed = Object.fromEntries(
    Object.entries({ ...pick(wanted, Object.keys(item)), ...wanted }).filter(([field, value]) =>
      isChanged(section, resource, field, value),
    ),
  );
  for (const field of Object.keys(changed)) {
    if (section.fixed?.includes(field) === true) {
      fieldErrors.push({
        field: `${path}.${field}`,
        code: 'invalid_value',
        message: `Cannot be changed: it is ${JSON.stringify(resource.fields[field] ?? null)}. ${fixedAdvice(section)}`,
      });
    }
  }
  if (Object.keys(changed).length === 0) {
    return undefined;
  }
  const [before, after] = [shownOf(section, resource.fields), shownOf(section, wanted)];
  const fieldChanges = Object.keys(changed).flatMap((field) =>
    isSecret(section, field)
      ? [{ field, before: hidden, after: hidden }]
      : differences(field, before[field] ?? null, after[field]),
  );
  return { action: 'update', ...step, resource, changed, wanted, fieldChanges };
}

function fixedAdvice({ shape, label }: FileSection): string {
  return shape === 'list' ? `Use another name for a new ${label}.` : 'Change it with the API.';
}

const hidden = '(secret)';

function isSecret({ secretFields }: FileSection, field: string): boolean {
  return secretFields?.includes(field) === true;
}

function isChanged(section: FileSection, resource: Resource, field: string, value: unknown): boolean {
  return isSecret(section, field)
    ? resource.isStoredSecret?.(field, value) !== true
    : !isSameValue(field, resource.fields[field] ?? null, value ?? null);
}

function createdFields(section: FileSection, item: FileFields): FieldChange[] {
  return Object.entries(shownOf(section, item)).map(([field, value]) => ({
    field,
    before: null,
    after: isSecret(section, field) ? hidden : value,
  }));
}

/** The name that a plan shows: the values of the key. */
export function resourceName(section: FileSection, fields: FileFields): string {
  const shown = shownOf(section, fields);
  return section.shape === 'single' ? '' : section.key.map((field) => String(shown[field] ?? '')).join(' ');
}

function shownOf(section: FileSection, fields: FileFields): FileFields {
  return section.shown?.(fields) ?? fields;
}

interface Matches {
  readonly pairs: readonly (FileItem & { readonly resource: Resource | undefined })[];
  /** Resources without an item. */
  readonly rest: readonly Resource[];
}

/**
 * Matches by id if the item has one, else by the key. If several items or resources have the same key, the secondary key decides;
 * where it does not, the item needs an id. Items that match none may have a resource whose key has changed since.
 */
function matchItems(
  section: ListSection,
  items: readonly FileItem[],
  resources: readonly Resource[],
  fieldErrors: FieldError[],
): Matches {
  const reject = (field: string, message: string) =>
    void fieldErrors.push({ field, code: 'invalid_value', message });
  const free = new Map(resources.map((resource) => [resource.id, resource]));
  const matched = new Map<FileItem, Resource>();
  for (const one of items) {
    const { id } = one.item;
    if (id === undefined || one.hasEnded) {
      continue;
    }
    const resource = free.get(String(id));
    if (resource === undefined) {
      reject(`${one.path}.id`, `There is no ${section.label} with this id, or another item has it too.`);
    } else {
      matched.set(one, resource);
      free.delete(resource.id);
    }
  }
  const unnamed = items.filter(({ item }) => item.id === undefined);
  const wantedOf = ({ item }: FileItem) => completeItem(section, item, undefined, { prune: false });
  const keyOfItem = (fields: readonly string[]) => (one: FileItem) => identity(fields, wantedOf(one));
  const resourcesByKey = groupBy(free.values(), ({ fields }) => identity(section.key, fields));
  for (const [key, group] of groupBy(unnamed, keyOfItem(section.key))) {
    const found = resourcesByKey.get(key) ?? [];
    if (group.length === 1 && found.length <= 1) {
      take(group[0], found[0]);
      continue;
    }
    const secondary = section.secondaryKey ?? [];
    const foundBySecond = groupBy(found, ({ fields }) => identity(secondary, fields));
    for (const [second, same] of groupBy(group, keyOfItem(secondary))) {
      const candidates = foundBySecond.get(second) ?? [];
      if (same.length === 1 && candidates.length <= 1) {
        take(same[0], candidates[0]);
        continue;
      }
      for (const { path } of same) {
        const fields = [...section.key, ...secondary].join(', ');
        reject(
          `${path}.${section.key[0]}`,
          candidates.length > 1
            ? `Several of these in the organization have the same ${fields}. Add the \`id\` of the one that you mean.`
            : `Another item has the same ${fields}.`,
        );
        // Not in the list of resources without an item.
        for (const candidate of candidates) {
          free.delete(candidate.id);
        }
      }
    }
  }
  for (const one of section.findWithOtherKey === undefined ? [] : unnamed) {
    if (!matched.has(one)) {
      take(one, section.findWithOtherKey?.(wantedOf(one), [...free.values()]));
    }
  }

  function take(one: FileItem | undefined, resource: Resource | undefined): void {
    if (one !== undefined && resource !== undefined) {
      matched.set(one, resource);
      free.delete(resource.id);
    }
  }
  return { pairs: items.map((one) => ({ ...one, resource: matched.get(one) })), rest: [...free.values()] };
}

export function identity(fields: readonly string[], of: FileFields): string {
  return canonicalJson(fields.map((field) => of[field] ?? null));
}
