/** Parses JSON that consists mostly of one list, item by item. */
import { randomUUID } from 'node:crypto';
import { lastBefore } from './json-bytes.ts';
import type { ItemsPlace } from './json-survey.ts';

/** Replaces the list while the text around it is parsed. Random, so that no client can send it. */
const stub = randomUUID();

/**
 * Returns the same value as `JSON.parse` of the whole text, but decodes the items one by one, so that a large body is not in memory
 * a second time as text.
 */
export function parseByItems(bytes: Buffer, { field, start, end, commas }: ItemsPlace): unknown {
  const parse = (from: number, to: number): unknown => JSON.parse(bytes.toString('utf8', from, to));
  const around = [bytes.toString('utf8', 0, start - 1), bytes.toString('utf8', end + 1)];
  const shell = JSON.parse(around.join(JSON.stringify(stub))) as Record<string, unknown>;
  if (shell[field] !== stub) {
    // The object has a second member with this name, and the last one takes precedence.
    return parse(0, bytes.length);
  }
  const items: unknown[] = [];
  let from = start;
  for (const at of commas) {
    items.push(parse(from, at));
    from = at + 1;
  }
  if (commas.length > 0 || lastBefore(bytes, end) >= start) {
    items.push(parse(from, end));
  }
  shell[field] = items;
  return shell;
}
