/** Shortens a response for the documentation: few items of a list, no secrets, no long texts. */
import type { TestAnswer } from '../harness.ts';

const textCharactersMax = 600;
const bodyCharactersMax = 1_500;
const plainItemsMax = 6;
/** The same in every recording: the newest migration would be out of date after the next one. */
export const exampleMigrations = { applied: 2, last_applied: '0002_ledger.sql' };

export function exampleOf({ status, text, json }: TestAnswer): object {
  if (text === '') {
    return { status };
  }
  if (json === undefined) {
    return { status, text: shortText(text, textCharactersMax) };
  }
  const short = withItems(json, 2);
  const body = JSON.stringify(short).length > bodyCharactersMax ? withItems(json, 1) : short;
  return JSON.stringify(body).length > 6 * bodyCharactersMax ? { status } : { status, body };
}

/** Returns the value with at most `count` items of each list and fields of each map of many. */
function withItems(value: unknown, count: number): unknown {
  if (Array.isArray(value)) {
    const isPlain = value.every((item) => typeof item !== 'object');
    return value.slice(0, isPlain ? plainItemsMax : count).map((item) => withItems(item, count));
  }
  if (typeof value === 'string') {
    return shortText(withoutSecret(value), 200);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries('last_applied' in value ? { ...value, ...exampleMigrations } : value).map(
      ([name, field]) => [name, withItems(field, count)],
    ),
  );
}

/** Secrets of the test would look like secrets that leaked. */
function withoutSecret(text: string): string {
  return text
    .replaceAll(/\b(svc_[a-z]+_|whsec_)[\w-]{12,}/g, '$1…')
    .replaceAll(/([?&#](?:token|code)=)[\w.-]+/g, '$1…');
}

function shortText(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}
