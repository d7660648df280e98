/**
 * Streams that had a part whose place in a plain response is not known, by connection and model. Their plain calls are sent as they are
 * from then on, so that the response of at most one call of a process is lost.
 */
export interface PartialStreams {
  add(connectionId: string, model: string): void;
  has(connectionId: string, model: string): boolean;
}

const namesMax = 10_000;

export function createPartialStreams(): PartialStreams {
  const names = new Set<string>();
  return {
    add(connectionId, model) {
      if (names.size < namesMax) {
        names.add(streamKey(connectionId, model));
      }
    },
    has: (connectionId, model) => names.size === namesMax || names.has(streamKey(connectionId, model)),
  };
}

function streamKey(connectionId: string, model: string): string {
  return `${connectionId} ${model}`;
}
