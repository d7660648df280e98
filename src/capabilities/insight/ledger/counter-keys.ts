/** Parses counter keys, which `counterKey` in the kernel writes: `limit@window` or `limit@window:values`. */

export interface CounterName {
  readonly limitId: string;
  readonly startMs: number;
  /** Values that the counter is for, if the limit has a wildcard. Several values are JSON. */
  readonly values: string | undefined;
}

export function limitIdOf(key: string): string {
  return key.slice(0, key.indexOf('@'));
}

export function counterName(key: string): CounterName {
  const limitId = limitIdOf(key);
  const rest = key.slice(limitId.length + 1);
  const colon = rest.indexOf(':');
  return colon < 0
    ? { limitId, startMs: Number(rest), values: undefined }
    : { limitId, startMs: Number(rest.slice(0, colon)), values: rest.slice(colon + 1) };
}
