/** Outcomes of writes to one resource: the response, and the change for the audit log and for events. */
import type { EventType } from '../../../contract/events.ts';
import { platformTenant } from './access.ts';
import type { Change, WriteOutcome } from './route.ts';

/** `org_id` is null for a resource of the platform. */
interface ChangedResource {
  readonly org_id: string | null;
  readonly id: string;
}

export function created<Row extends ChangedResource, View extends object>(
  kind: string,
  row: Row,
  view: (row: Row) => View,
  event?: EventType,
): WriteOutcome<View> {
  return changed(kind, { after: row }, view, event);
}

export function changed<Row extends ChangedResource, View extends object>(
  kind: string,
  { before, after }: { readonly before?: Row | undefined; readonly after: Row },
  view: (row: Row) => View,
  event?: EventType,
): WriteOutcome<View> {
  const views = { before: before && view(before), after: view(after) };
  return { body: views.after, changes: [changeOf(kind, after, views, event)] };
}

/** Returns the outcome of a removal. The event repeats the removed resource and the time of its removal. */
export function removed<Row extends ChangedResource>(
  kind: string,
  row: Row,
  view: (row: Row) => object,
  now: Date,
  event?: EventType,
): WriteOutcome<object> {
  const before = view(row);
  const after = { ...before, deleted_at: now.toISOString() };
  return { body: {}, changes: [changeOf(kind, row, { before, after }, event)] };
}

/** Returns the outcome of a change of a setting that an org has once, without its own id. */
export function settingChanged<View extends object>(
  kind: string,
  orgId: string,
  views: { readonly before?: View | undefined; readonly after: View },
  event?: EventType,
): WriteOutcome<View> {
  return { body: views.after, changes: [changeOf(kind, orgId, views, event)] };
}

/** Returns a change. `of` is the resource, or the id of the org for a setting that an org has once. */
export function changeOf(
  kind: string,
  of: ChangedResource | string,
  { before, after }: Pick<Change, 'before' | 'after'>,
  event?: EventType,
): Change {
  const { org_id, id } = typeof of === 'string' ? { org_id: of, id: of } : of;
  return { tenantId: org_id ?? platformTenant, target: { kind, id }, before, after, event };
}
