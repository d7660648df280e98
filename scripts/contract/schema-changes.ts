/**
 * Finds breaking changes of a JSON schema. A request must accept everything that it accepted before; a response must keep every
 * promise, while fields and values may be added. An unknown keyword may be removed from a request or added to a response, since
 * both only loosen the requirements for callers; any other difference in it is treated as breaking.
 */
import { broken } from './promises.ts';
import { type Schema, typesOf } from './schema-form.ts';

export type Side = 'request' | 'answer';

/** Location of the schema: `data[].status` in `the answer 200 of GET /v1/runs`. */
export interface Place {
  readonly root: string;
  readonly path: string;
}

const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/** Keywords with their own rules; the general rule above applies to all others. */
const known = new Set([
  ...['type', 'enum', 'properties', 'required', 'additionalProperties', 'patternProperties', 'items'],
  ...['anyOf', 'default', ...lowerBounds, ...upperBounds],
]);

/** Both schemas must be normalized. */
export function schemaChanges(given: Schema, now: Schema, side: Side, where: Place): string[] {
  const [before, after] = side === 'answer' ? [words(given), words(now)] : [given, now];
  return [
    ...typeChanges(before, after, side, where),
    ...valueChanges(before, after, side, where),
    ...fieldChanges(before, after, side, where),
    ...opennessChanges(before, after, side, where),
    ...boundChanges(before, after, side, where),
    ...alternativeChanges(before, after, side, where),
    ...defaultChanges(before, after, side, where),
    ...otherChanges(before, after, side, where),
    ...inside(before, after, side, where),
  ];
}

/**
 * Returns the listed values of a response field whose other values are described by patterns. Such a pattern adds values, as a
 * new word does.
 */
function words(schema: Schema): Schema {
  const alternatives = (schema.anyOf ?? []) as readonly Schema[];
  const listed = alternatives.filter((one) => one.enum !== undefined);
  const isOfWords =
    listed.length > 0 &&
    alternatives.every(
      (one) => String(one.type) === 'string' && (one.enum !== undefined || one.pattern !== undefined),
    );
  return isOfWords ? { type: ['string'], enum: listed.flatMap((one) => one.enum as unknown[]) } : schema;
}

/** The schema that no value matches. */
const nothing: Schema = { not: {} };

function typeChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const [old, now] = [typesOf(before), typesOf(after)];
  if (side === 'request') {
    const lost =
      now === undefined ? [] : (old ?? ['any type']).filter((type) => !now.some((n) => covers(n, type)));
    return lost.map((type) => broken('narrowing', `${label(where)}: no longer takes ${type}`));
  }
  const added = old === undefined ? [] : (now ?? ['any type']).filter((n) => !old.some((o) => covers(o, n)));
  return added.map((type) =>
    broken(
      'narrowing',
      `${label(where)}: may now be ${type}, which it never was (it was ${old?.join(' or ')})`,
    ),
  );
}

function valueChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const [old, now] = [before.enum, after.enum] as (unknown[] | undefined)[];
  if (old === undefined) {
    return now !== undefined && side === 'request'
      ? [broken('narrowing', `${label(where)}: now takes only certain values`)]
      : [];
  }
  if (now === undefined) {
    return side === 'answer'
      ? [broken('narrowing', `${label(where)}: is no longer one of the published values`)]
      : [];
  }
  return old
    .filter((value) => !now.includes(value))
    .map((value) =>
      broken('removal', `${label(where)}: the value ${JSON.stringify(value)} was removed or renamed`),
    );
}

function fieldChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const [oldRequired, nowRequired] = [requiredOf(before), requiredOf(after)];
  const gone = Object.keys(old)
    .filter((name) => now[name] === undefined)
    .map((name) => broken('removal', `${label(at(where, name))}: the field was removed or renamed`));
  const presence =
    side === 'request'
      ? nowRequired
          .filter((name) => !oldRequired.includes(name))
          .map((name) => broken('narrowing', `${label(at(where, name))}: the field became required`))
      : oldRequired
          .filter((name) => now[name] !== undefined && !nowRequired.includes(name))
          .map((name) => broken('narrowing', `${label(at(where, name))}: the field may now be left out`));
  return [...gone, ...presence];
}

/** Clients ignore unknown fields, so this matters for requests only. */
function opennessChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  return side === 'request' && after.additionalProperties === false && before.additionalProperties !== false
    ? [broken('narrowing', `${label(where)}: fields beyond those named are now refused`)]
    : [];
}

/** Bounds of responses are descriptions, not promises: a longer name in a request must be returned in full. */
function boundChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  if (side === 'answer') {
    return [];
  }
  const tighter = [
    ...lowerBounds.filter((bound) => number(after[bound], -Infinity) > number(before[bound], -Infinity)),
    ...upperBounds.filter((bound) => number(after[bound], Infinity) < number(before[bound], Infinity)),
  ];
  return tighter.map((bound) =>
    broken(
      'narrowing',
      `${label(where)}: ${bound} was tightened from ${before[bound] ?? 'none'} to ${after[bound]}`,
    ),
  );
}

function alternativeChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const [old, now] = [before.anyOf, after.anyOf] as (Schema[] | undefined)[];
  if (old === undefined && now === undefined) {
    return [];
  }
  // A single shape is treated as one alternative; its other keywords are compared above.
  const [olds, nows] = [old ?? [before], now ?? [after]];
  const fits = (from: Schema, to: Schema) => schemaChanges(from, to, side, where).length === 0;
  const lost = olds.filter((from) => !nows.some((to) => fits(from, to)));
  const added = side === 'answer' ? nows.filter((to) => !olds.some((from) => fits(from, to))) : [];
  return [
    ...(lost.length > 0
      ? [broken('narrowing', `${label(where)}: an alternative was removed or narrowed`)]
      : []),
    ...(added.length > 0
      ? [broken('narrowing', `${label(where)}: an alternative was added to the answer`)]
      : []),
  ];
}

function defaultChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  return side === 'request' && !same(before.default, after.default)
    ? [
        broken(
          'narrowing',
          `${label(where)}: the default changed from ${JSON.stringify(before.default)} to ${JSON.stringify(after.default)}`,
        ),
      ]
    : [];
}

function otherChanges(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const keywords = new Set(
    [...Object.keys(before), ...Object.keys(after)].filter((word) => !known.has(word)),
  );
  return [...keywords].flatMap((keyword) => {
    const harmless = (side === 'request' ? after : before)[keyword] === undefined;
    return harmless || same(before[keyword], after[keyword])
      ? []
      : [
          broken(
            'narrowing',
            `${label(where)}: ${keyword} changed from ${JSON.stringify(before[keyword])} to ${JSON.stringify(after[keyword])}`,
          ),
        ];
  });
}

function inside(before: Schema, after: Schema, side: Side, where: Place): string[] {
  const now = fieldsOf(after);
  const fields = Object.entries(fieldsOf(before)).flatMap(([name, old]) => {
    const field = now[name];
    return field === undefined ? [] : schemaChanges(old, field, side, at(where, name));
  });
  const patterns = Object.entries((before.patternProperties ?? {}) as Record<string, Schema>).flatMap(
    ([pattern, old]) =>
      schemaChanges(
        old,
        (after.patternProperties as Record<string, Schema> | undefined)?.[pattern] ?? nothing,
        side,
        at(where, '*'),
      ),
  );
  const others =
    isSchema(before.additionalProperties) || isSchema(after.additionalProperties)
      ? schemaChanges(
          asSchema(before.additionalProperties),
          asSchema(after.additionalProperties),
          side,
          at(where, '*'),
        )
      : [];
  const items =
    before.items === undefined && after.items === undefined
      ? []
      : schemaChanges((before.items ?? {}) as Schema, (after.items ?? {}) as Schema, side, item(where));
  return [...fields, ...patterns, ...others, ...items];
}

function covers(wide: string, narrow: string): boolean {
  return wide === narrow || (wide === 'number' && narrow === 'integer');
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object';
}

function asSchema(additional: unknown): Schema {
  return isSchema(additional) ? additional : additional === false ? nothing : {};
}

function fieldsOf(schema: Schema): Record<string, Schema> {
  return (schema.properties ?? {}) as Record<string, Schema>;
}

function requiredOf(schema: Schema): string[] {
  return (schema.required ?? []) as string[];
}

function number(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent;
}

function at({ root, path }: Place, name: string): Place {
  return { root, path: path === '' ? name : `${path}.${name}` };
}

function item({ root, path }: Place): Place {
  return { root, path: `${path}[]` };
}

function label({ root, path }: Place): string {
  return path === '' ? root : `${path} in ${root}`;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
