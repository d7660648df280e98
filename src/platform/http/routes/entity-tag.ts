/**
 * Entity tags of resources that can be changed. `GET` returns the tag of the current version, and a `PATCH` or `PUT` with `If-Match` is a
 * conflict if the resource is another version by then.
 */
import { createHash } from 'node:crypto';
import { type ApiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { includesTag } from '../message/tag-list.ts';
import type { Route, WriteOutcome } from './route.ts';

/** Returns the tag of a resource as readers see it. */
export type EntityTagOf = (resource: object) => string;

/** Returns true for the operations that honour `If-Match`. */
export function isVersioned({ method }: Pick<Route, 'method'>): boolean {
  return method === 'PATCH' || method === 'PUT';
}

/** Returns the tags of the resources that can be changed, by path. */
export function entityTagsOf(routes: readonly Route[]): ReadonlyMap<string, EntityTagOf> {
  return new Map(routes.filter(isVersioned).map((route) => [route.path, entityTagOf(route)]));
}

/** Only the fields that the change returns count, because a read may add others, such as a history. */
function entityTagOf({ response, unversionedFields }: Route): EntityTagOf {
  const declared = (response as { readonly properties?: object } | undefined)?.properties;
  const fields = Object.keys(declared ?? {}).filter((name) => !unversionedFields.includes(name));
  return (resource) => {
    const counted = declared === undefined ? resource : pick(resource, fields);
    return `"${createHash('sha256').update(JSON.stringify(counted)).digest('base64url')}"`;
  };
}

function pick(resource: object, fields: readonly string[]): unknown[] {
  const values = resource as Readonly<Record<string, unknown>>;
  return fields.map((name) => values[name] ?? null);
}

/**
 * Throws a conflict unless `If-Match` names the version before the change. It is called within the transaction, when the change holds the
 * lock of the resource, so no other change can come between.
 */
export function checkVersion(
  ifMatch: string,
  entityTagOf: EntityTagOf,
  { body, changes: [change] }: WriteOutcome<unknown>,
): void {
  const before = change === undefined ? body : change.before;
  const current = before === undefined ? undefined : entityTagOf(before as object);
  if (current === undefined || !includesTag(ifMatch, current)) {
    throw versionConflict(current);
  }
}

function versionConflict(etag: string | undefined): ApiError {
  return etag === undefined
    ? apiErrorWithDetails(
        'conflict',
        {},
        'The resource does not exist yet. Send the request without `If-Match`.',
      )
    : apiErrorWithDetails('conflict', { etag }, 'The resource was changed since you read it. Read it again.');
}
