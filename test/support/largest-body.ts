/** Computes the size in bytes of the largest body that the schema of a route allows, written without spaces. */
import type { Route } from '../../src/platform/http/routes/route.ts';

/** The size of an escape such as `\u00e9`: clients that write only ASCII escape every other character this way. */
const bytesPerCharacter = 6;
const bytesPerNumber = 25;
/** The size of a string whose format or pattern already bounds its length. */
const bytesPerFormat = 60;
/** An assumed size, because the schema of metadata does not limit its values. */
const metadataBytes = 131_072;

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: { readonly maxLength?: number };
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly pattern?: string;
}

export function largestBodyBytes({ id, body }: Route): number {
  return bytesOf(body as Schema, id);
}

function bytesOf(schema: Schema, path: string): number {
  if (schema.const !== undefined || schema.enum !== undefined) {
    return Math.max(
      ...[schema.const, ...(schema.enum ?? [])].map((value) => JSON.stringify(value ?? null).length),
    );
  }
  if (schema.anyOf !== undefined) {
    return Math.max(...schema.anyOf.map((part, index) => bytesOf(part, `${path}|${index}`)));
  }
  return Math.max(...[schema.type ?? []].flat().map((type) => bytesOfType(type, schema, path)));
}

function bytesOfType(type: string, schema: Schema, path: string): number {
  switch (type) {
    case 'null':
    case 'boolean':
      return 5;
    case 'integer':
    case 'number':
      return bytesPerNumber;
    case 'string':
      return bytesOfString(schema, path);
    case 'array':
      return 2 + bounded(schema.maxItems, path) * (1 + bytesOf(schema.items ?? {}, `${path}[]`));
    case 'object':
      return bytesOfObject(schema, path);
    default:
      throw new Error(`${path} has a type that this does not know: ${type}`);
  }
}

function bytesOfString({ maxLength, format, pattern }: Schema, path: string): number {
  if (maxLength !== undefined) {
    return 2 + maxLength * bytesPerCharacter;
  }
  return format === undefined && pattern?.endsWith('$') !== true ? bounded(undefined, path) : bytesPerFormat;
}

function bytesOfObject(schema: Schema, path: string): number {
  if (schema.patternProperties?.['^.*$'] !== undefined) {
    return metadataBytes;
  }
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => name.length + 4 + bytesOf(member, `${path}.${name}`),
  );
  const others = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const othersBytes =
    others === undefined
      ? 0
      : bounded(schema.maxProperties, path) *
        (4 +
          bounded(schema.propertyNames?.maxLength, path) * bytesPerCharacter +
          bytesOf(others, `${path}{}`));
  return members.reduce((sum, bytes) => sum + bytes, 2 + othersBytes);
}

function bounded(bound: number | undefined, path: string): number {
  if (bound === undefined) {
    throw new Error(`${path} has no bound`);
  }
  return bound;
}
