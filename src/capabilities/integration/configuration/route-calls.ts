/**
 * Calls write routes within the transaction of another request: with the access that the caller needs for each route, its
 * validation, its handler, and its audit entries and events.
 */
import { ApiError, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { checkMayCall } from '../../../platform/http/routes/access.ts';
import type { Change, HandlerContext, Route, WriteOutcome } from '../../../platform/http/routes/route.ts';
import { compileBody, type Validator } from '../../../platform/http/routes/validation.ts';
import type { RouteCall } from './section.ts';

/** The parts of a request that the calls share. */
export type CallContext = Omit<HandlerContext, 'params' | 'query' | 'body'>;

export interface RouteCalls {
  /** Throws unless the caller may call the route. */
  checkAccess(context: CallContext, routeId: string): void;
  /** Runs the handler. The changes that it returns are not recorded yet. */
  call(tx: Transaction, context: CallContext, orgId: string, call: RouteCall): Promise<WriteOutcome<unknown>>;
}

export function createRouteCalls(routes: () => readonly Route[]): RouteCalls {
  const validators = new Map<string, Validator>();
  let byId: ReadonlyMap<string, Route> | undefined;

  function find(id: string): Route {
    byId ??= new Map(routes().map((route) => [route.id, route]));
    const route = byId.get(id);
    if (route === undefined) {
      throw new Error(`no route ${id}`);
    }
    return route;
  }

  function validate({ id, body: schema }: Route, body: unknown): void {
    if (schema === undefined) {
      return;
    }
    const validator = validators.get(id) ?? compileBody(schema);
    validators.set(id, validator);
    const fieldErrors = validator(body);
    if (fieldErrors.length > 0) {
      throw invalidFields(fieldErrors);
    }
  }

  return {
    checkAccess: ({ caller }, routeId) => checkMayCall(caller, find(routeId)),
    async call(tx, context, orgId, { route: routeId, params, body = {} }) {
      const route = find(routeId);
      if (route.run.kind !== 'write') {
        throw new Error(`${routeId} does not run in a transaction`);
      }
      checkMayCall(context.caller, route);
      validate(route, body);
      return route.run.handler(
        // Routes of operators call the parameter `org_id`.
        { ...context, params: { id: orgId, org_id: orgId, ...params }, query: {}, body },
        tx,
      );
    },
  };
}

/** Returns the error with the place in the file: the path of each field, or of the resource in the message. */
export function errorAt(error: unknown, path: string | undefined, name: string): unknown {
  if (!(error instanceof ApiError)) {
    return error;
  }
  if (error.code === 'validation_failed' && path !== undefined) {
    const { fields } = error.details as { fields: readonly FieldError[] };
    return invalidFields(
      fields.map((fieldError) => ({ ...fieldError, field: fieldPath(path, fieldError.field) })),
    );
  }
  const place = [path, name && `"${name}"`].filter(Boolean).join(' ');
  return new ApiError(error.code, error.status, `${place}: ${error.message}`, error.details);
}

function fieldPath(path: string, field: string): string {
  return field === '' || field === 'body' ? path : `${path}.${field}`;
}

/** Fields that change with every write. */
const volatile = new Set(['updated_at', 'version', 'api_key_set_at', 'previous_key_until']);

/** Returns true if a write has changed nothing that readers see. */
export function isNoChange(changes: readonly Change[]): boolean {
  return changes.every(
    ({ before, after }) => before !== undefined && after !== undefined && visible(before) === visible(after),
  );
}

function visible(view: object): string {
  return JSON.stringify(Object.entries(view).filter(([field]) => !volatile.has(field)));
}
