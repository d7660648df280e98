/**
 * A section of a configuration: the resources of one kind. It loads what the organization has, in the form of the file, and names
 * the routes that create, change and remove a resource. The rules of the resource itself are those of the routes.
 */
import type { Queryable } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

export type FileFields = Readonly<Record<string, unknown>>;

/** A call of a route. The id of the organization is added to the parameters. */
export interface RouteCall {
  /** Id of the route, such as `budgets.create`. */
  readonly route: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: FileFields;
}

export interface Resource {
  /** Id of the resource; that of the organization for a section with one resource. */
  readonly id: string;
  /** All fields, in the form of the file; null if a field is not set. Secrets are left out. */
  readonly fields: FileFields;
  /** The limits that end when the resource is removed. */
  readonly limitIds?: readonly string[];
  /** True: `prune` never removes it. */
  readonly isKept?: boolean;
  /** Returns true if this is the stored value of a secret. */
  isStoredSecret?(field: string, value: unknown): boolean;
}

export interface LoadContext {
  readonly db: Queryable;
  readonly orgId: string;
  readonly now: Date;
  readonly secrets: Secrets;
  /** The key that sends the request. */
  readonly callerId: string;
}

interface CommonSection {
  /** Name of the section in the file. */
  readonly name: string;
  /** Name of one resource in a plan. */
  readonly label: string;
  /** The route whose access is required to see the section. */
  readonly readRoute: string;
  /** The route whose access is required to export the section, where an export contains more than `readRoute` shows. */
  readonly exportRoute?: string;
  /** Fields that cannot be changed after the creation. */
  readonly fixed?: readonly string[];
  /** True if the routes store every value as it is given, so that each difference is a change. */
  readonly storesAsGiven?: boolean;
  /** True if the resources are limits. */
  readonly hasLimits?: boolean;
  /** Fields that are never shown. */
  readonly secretFields?: readonly string[];
  /** Returns the fields as plans and the names of secrets show them. By default as they are. */
  shown?(fields: FileFields): FileFields;
  /** Values of fields that the file may leave out. They are left out of an export too. */
  readonly defaults: FileFields;
  load(context: LoadContext): Promise<readonly Resource[]>;
  /**
   * Returns the wanted fields in the form of `Resource.fields`. A field that it leaves out is not compared, so it stays as it is.
   * Default: the item and the defaults.
   */
  complete?(item: FileFields, current: Resource | undefined, options: CompleteOptions): FileFields;
  /** Undefined if the resource always exists. */
  create?(item: FileFields): RouteCall;
  /** `changed` has the wanted values of the fields that differ, `wanted` those of all fields. */
  change(resource: Resource, changed: FileFields, wanted: FileFields, options: ChangeOptions): RouteCall;
  /** Undefined if the resource cannot be removed. */
  remove?(resource: Resource): RouteCall;
  /** The limits that a change ends. */
  endedLimits?(resource: Resource, wanted: FileFields): readonly string[];
  /** Returns the secret in the response of a creation, which is shown only once. */
  secretIn?(response: FileFields): string | undefined;
}

export interface CompleteOptions {
  readonly prune: boolean;
}

export interface ChangeOptions {
  readonly force: boolean;
}

export interface ListSection extends CommonSection {
  readonly shape: 'list';
  /** The fields that identify a resource. */
  readonly key: readonly string[];
  /** Further fields that tell resources with the same key apart. */
  readonly secondaryKey?: readonly string[];
  /**
   * Returns the resource of an item whose key has changed outside of the file, from those that match no item by their key; undefined
   * if there is none, so that a new one is created.
   */
  findWithOtherKey?(wanted: FileFields, resources: readonly Resource[]): Resource | undefined;
  /** Returns those of the items whose resource has ended by itself, as its item says. They need no change. */
  findEnded?(context: LoadContext, items: readonly FileFields[]): Promise<readonly FileFields[]>;
}

/** An organization has at most one resource of such a section. */
export interface SingleSection extends CommonSection {
  readonly shape: 'single';
}

export type FileSection = ListSection | SingleSection;

/** Returns the wanted fields of an item. */
export function completeItem(
  section: FileSection,
  item: FileFields,
  current: Resource | undefined,
  options: CompleteOptions,
): FileFields {
  const { id: _, ...given } = item;
  return section.complete?.(given, current, options) ?? { ...section.defaults, ...given };
}

/** Returns these fields of an object. */
export function pick(from: object, names: readonly string[]): FileFields {
  const fields = from as FileFields;
  return Object.fromEntries(
    names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  );
}
