/** Small damage to the bytes of a request. */
import fc from 'fast-check';

/** One change to the bytes of a request; positions are fractions, so that they fit any length. */
export interface Mutation {
  readonly at: number;
  readonly kind: 'replace' | 'insert' | 'remove' | 'repeat' | 'cut';
  readonly bytes: Uint8Array;
}

export const mutations = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom<Mutation['kind']>('replace', 'insert', 'remove', 'repeat', 'cut'),
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
      fc
        .constantFrom(
          '\r\n',
          '\0',
          ' ',
          ':',
          '%',
          '\r\n\r\n',
          'Transfer-Encoding: chunked\r\n',
          'Content-Length: 3\r\n',
        )
        .map((text) => Buffer.from(text)),
    ),
  }),
  { maxLength: 3 },
);

export function mutate(bytes: Buffer, changes: readonly Mutation[]): Buffer {
  let result = bytes;
  for (const { at, kind, bytes: piece } of changes) {
    const index = Math.floor(at * result.length);
    const head = result.subarray(0, index);
    const tail = result.subarray(index);
    const size = piece.length;
    result = {
      replace: () => Buffer.concat([head, piece, tail.subarray(size)]),
      insert: () => Buffer.concat([head, piece, tail]),
      remove: () => Buffer.concat([head, tail.subarray(size)]),
      repeat: () => Buffer.concat([head, tail.subarray(0, 50), tail]),
      cut: () => head,
    }[kind]();
  }
  return result;
}
