/**
 * Option of a schema with a `pattern`: the message of its field error, as a sentence. A symbol, since it is not part of the
 * published schema.
 */
export const formatMessage: unique symbol = Symbol('formatMessage');
