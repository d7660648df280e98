/** Building blocks of request and response schemas. Bodies are closed: unknown fields are rejected. */
import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';

/** A closed object, for requests and for resources in responses. */
export function closed<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

/** A closed object with optional properties only, for PATCH. */
export function partial<Properties extends TProperties>(properties: Properties) {
  return Type.Partial(Type.Object(properties), { additionalProperties: false });
}

/** A string enum. A wrong value is a single error, unlike with a union of literals. */
export function choice<const Words extends readonly string[]>(words: Words, description?: string) {
  return Type.Unsafe<Words[number]>({
    type: 'string',
    enum: [...words],
    ...(description && { description }),
  });
}

export function nullable<Schema extends TSchema & { type: string }>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] });
}

export const id = Type.String({ maxLength: 100 });
export const name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  [formatMessage]: 'Must not be blank.',
  description: 'Up to 200 characters, not only white space.',
});
/** Free text that names a person or place to ask. */
export const contact = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  [formatMessage]: 'Must not be blank.',
});
export const reason = Type.String({ minLength: 1, maxLength: 1_000 });

/** A time in RFC 3339 with offset. The format limits the years to those that databases and clients support. */
export const timestamp = Type.String({ format: 'date-time' });

/** The pattern is for clients, which do not know the format `usd`. The format also limits the amount. */
export const usdPattern = '^\\d{1,10}(\\.\\d{1,9})?$';

/** An amount of money in requests and responses. */
export const usd = Type.String({
  format: 'usd',
  pattern: usdPattern,
  description: 'US dollars as a decimal string.',
});
export const signedUsd = Type.String({
  format: 'signed-usd',
  pattern: '^-?\\d{1,10}(\\.\\d{1,9})?$',
  description:
    'US dollars as a decimal string, at most 9 decimals, no exponent; negative amounts start with `-`.',
});

export const timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'An IANA time zone, such as `Europe/Berlin`.',
});

export function page<Item extends TSchema>(item: Item) {
  return closed({
    data: Type.Array(item),
    next_cursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Null on the last page.',
    }),
  });
}
