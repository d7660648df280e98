/** Removes the provider's key from responses, because some providers echo request headers in an error or a debug field. */
import type { ProviderResponse } from './provider-client.ts';

const replacement = '[redacted]';
/** Minimum length of a key that is removed. A shorter one is a placeholder such as `ollama`, which could be part of ordinary text. */
const keyLengthMin = 12;
const noBytes = Buffer.alloc(0);

/** The filter of a stream. */
export interface KeyFilter {
  stopPassing(): void;
  push(chunk: Buffer): Buffer;
  end(isComplete: boolean): Buffer;
}

export interface KeyRedaction {
  bytes(given: Buffer): Buffer;
  text(given: string): string;
  headers(given: ProviderResponse['headers']): ProviderResponse['headers'];
  /** Returns a filter that also finds a key spanning two chunks. */
  filter(inner: KeyFilter): KeyFilter;
}

const nothingToRedact: KeyRedaction = {
  bytes: (given) => given,
  text: (given) => given,
  headers: (given) => given,
  filter: (inner) => inner,
};

/** Removes each of the secrets of a credential. */
export function keyRedaction(secrets: readonly string[]): KeyRedaction {
  const redactions = secrets.filter((secret) => secret.length >= keyLengthMin).map(redactionOf);
  return redactions.length === 0 ? nothingToRedact : redactions.reduce(combined);
}

function combined(first: KeyRedaction, second: KeyRedaction): KeyRedaction {
  return {
    bytes: (given) => second.bytes(first.bytes(given)),
    text: (given) => second.text(first.text(given)),
    headers: (given) => second.headers(first.headers(given)),
    filter: (inner) => second.filter(first.filter(inner)),
  };
}

function redactionOf(key: string): KeyRedaction {
  const keyBytes = Buffer.from(key);
  const text = (given: string) => given.replaceAll(key, replacement);

  /** `latin1` maps each byte to one character, without loss. */
  const bytes = (given: Buffer) =>
    given.includes(keyBytes)
      ? Buffer.from(given.toString('latin1').replaceAll(keyBytes.toString('latin1'), replacement), 'latin1')
      : given;

  /** Returns the number of bytes at the end that may be the start of the key. */
  function startedAtEnd(given: Buffer): number {
    const from = Math.max(0, given.length - keyBytes.length + 1);
    for (let at = given.indexOf(keyBytes[0] as number, from); at !== -1; ) {
      if (keyBytes.compare(given, at, given.length, 0, given.length - at) === 0) {
        return given.length - at;
      }
      at = given.indexOf(keyBytes[0] as number, at + 1);
    }
    return 0;
  }

  return {
    bytes,
    text,
    headers(given) {
      if (!Object.values(given).some((value) => String(value).includes(key))) {
        return given;
      }
      const entries = Object.entries(given).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map(text) : value && text(value),
      ]);
      return Object.fromEntries(entries);
    },
    filter(inner) {
      let held: Buffer = noBytes;
      return {
        stopPassing: () => inner.stopPassing(),
        push(chunk) {
          const passed = inner.push(chunk);
          const redacted = bytes(held.length === 0 ? passed : Buffer.concat([held, passed]));
          const started = startedAtEnd(redacted);
          if (started === 0) {
            held = noBytes;
            return redacted;
          }
          held = redacted.subarray(redacted.length - started);
          return redacted.subarray(0, redacted.length - started);
        },
        end(isComplete) {
          const rest = inner.end(isComplete);
          return held.length === 0 ? bytes(rest) : bytes(Buffer.concat([held, rest]));
        },
      };
    },
  };
}
