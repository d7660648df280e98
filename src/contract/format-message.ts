/**
 * Schema option for a `pattern`: the message of its field error, as a sentence. It is a symbol, because it is not part of the
 * published schema.
 */
export const formatMessage: unique symbol = Symbol('formatMessage');
