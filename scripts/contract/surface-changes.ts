/** Finds removals and restrictions of the published surface, one sentence each. Ignores additions. */
import { broken } from './promises.ts';
import { schemaChanges } from './schema-changes.ts';
import type { Schema } from './schema-form.ts';
import type { Operation, Surface } from './surface.ts';

export function surfaceChanges(before: Surface, after: Surface): string[] {
  return [
    ...each(before.operations, after.operations, {
      gone: (name) => broken('removal', `${name} was removed or renamed`),
      changed: (name, old, now) => operationChanges(name, old, now, after.roles),
    }),
    ...each(before.events, after.events, {
      gone: (name) => broken('removal', `the event ${name} was removed or renamed`),
      changed: (name, old, now) => [
        ...missing(old.headers, now.headers).map((header) =>
          broken('deliveries', `the event ${name} is delivered without the header ${header}`),
        ),
        ...schemaChanges(old.body, now.body, 'answer', { root: `the event ${name}`, path: '' }),
      ],
    }),
    ...each(before.codes, after.codes, {
      gone: (code) => broken('codes', `the code ${code} was removed or renamed`),
      changed: codeChanges,
    }),
    ...missing(before.scopes, after.scopes).map((scope) =>
      broken('removal', `the scope ${scope} was removed or renamed`),
    ),
    ...missing(before.roles, after.roles).map((role) =>
      broken('removal', `the role ${role} was removed or renamed`),
    ),
    ...each(before.metrics, after.metrics, {
      gone: (name) => broken('metrics', `the metric ${name} was removed or renamed`),
      changed: (name, old, now) => [
        ...(old.type === now.type
          ? []
          : [broken('metrics', `the metric ${name} became a ${now.type}; it was a ${old.type}`)]),
        ...missing(old.labels, now.labels).map((label) =>
          broken('metrics', `the metric ${name} lost its label ${label}`),
        ),
      ],
    }),
  ];
}

type CodeEntry = Surface['codes'][string];

function codeChanges(code: string, before: CodeEntry, after: CodeEntry): string[] {
  return [
    ...missing(before.statuses, after.statuses).map((status) =>
      broken('codes', `the code ${code} no longer has the status ${status}`),
    ),
    ...schemaChanges(before.details, after.details, 'answer', { root: `the details of ${code}`, path: '' }),
  ];
}

function operationChanges(
  name: string,
  before: Operation,
  after: Operation,
  roles: readonly string[],
): string[] {
  return [
    ...(before.id === after.id
      ? []
      : [broken('removal', `${name}: the operation ${before.id} was renamed to ${after.id}`)]),
    ...(mayStillCall(before.access, after.access, roles)
      ? []
      : [
          broken(
            'narrowing',
            `${name}: who may call it was narrowed from ${JSON.stringify(before.access)} to ${JSON.stringify(after.access)}`,
          ),
        ]),
    ...parameterChanges(name, before, after),
    ...bodyChanges(name, before, after),
    ...answerChanges(name, before, after),
  ];
}

/** Returns true if every previous caller still has access: the same rule, public access, or a role that is not higher. */
function mayStillCall(before: Schema, after: Schema, roles: readonly string[]): boolean {
  const { role: oldRole, ...old } = before;
  const { role: nowRole, ...now } = after;
  const noHigher = oldRole === nowRole || roles.indexOf(String(nowRole)) <= roles.indexOf(String(oldRole));
  return now.kind === 'public' || (JSON.stringify(old) === JSON.stringify(now) && noHigher);
}

function parameterChanges(name: string, before: Operation, after: Operation): string[] {
  const added = Object.entries(after.parameters)
    .filter(([parameter, { required }]) => required && before.parameters[parameter]?.required !== true)
    .map(([parameter]) => broken('narrowing', `${name}: the parameter "${parameter}" became required`));
  const others = each(before.parameters, after.parameters, {
    gone: (parameter) => broken('removal', `${name}: the parameter "${parameter}" was removed or renamed`),
    changed: (parameter, old, now) =>
      schemaChanges(old.schema, now.schema, 'request', {
        root: `the parameter "${parameter}" of ${name}`,
        path: '',
      }),
  });
  return [...added, ...others];
}

function bodyChanges(name: string, before: Operation, after: Operation): string[] {
  const required =
    after.body?.required === true && before.body?.required !== true
      ? [broken('narrowing', `${name}: a body became required`)]
      : [];
  const content = each(before.body?.content ?? {}, after.body?.content ?? {}, {
    gone: (mediaType) => broken('removal', `${name}: no longer takes a body of ${mediaType}`),
    changed: (mediaType, old, now) =>
      schemaChanges(old, now, 'request', { root: `the ${mediaType} body of ${name}`, path: '' }),
  });
  return [...required, ...content];
}

function answerChanges(name: string, before: Operation, after: Operation): string[] {
  return each(before.answers, after.answers, {
    gone: (status) => broken('codes', `${name}: the status ${status} was removed`),
    changed: (status, old, now) => [
      ...missing(old.codes, now.codes).map((code) =>
        broken('codes', `${name}: the code ${code} was removed from its status ${status}`),
      ),
      ...missing(old.headers, now.headers).map((header) =>
        broken('removal', `${name}: the header ${header} was removed from its answer ${status}`),
      ),
      ...each(old.content, now.content, {
        gone: (mediaType) => broken('removal', `${name}: its answer ${status} is no longer ${mediaType}`),
        changed: (_mediaType, from, to) =>
          schemaChanges(from, to, 'answer', { root: `the answer ${status} of ${name}`, path: '' }),
      }),
    ],
  });
}

/** Compares the entries that both sides have, by name, and reports those that only the first side has. */
function each<Value>(
  before: Readonly<Record<string, Value>>,
  after: Readonly<Record<string, Value>>,
  tell: { gone(name: string): string; changed(name: string, old: Value, now: Value): string[] },
): string[] {
  return Object.entries(before).flatMap(([name, old]) => {
    const now = after[name];
    return now === undefined ? [tell.gone(name)] : tell.changed(name, old, now);
  });
}

function missing<Item>(before: readonly Item[], after: readonly Item[]): Item[] {
  return before.filter((item) => !after.includes(item));
}
