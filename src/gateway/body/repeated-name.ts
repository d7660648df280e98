/**
 * Finds a name that appears twice in one object. Providers differ in the value that they use then. So the provider might read
 * another request than the gateway has checked.
 */
import type { Fields } from '../../kernel/providers/fields.ts';
import {
  brace,
  braceEnd,
  bracket,
  bracketEnd,
  colon,
  endOfString,
  quote,
} from '../../platform/http/message/json-bytes.ts';

/** Returns the repeated name. `names` is the number of names in the text; the parsed `body` has fewer if a name is repeated. */
export function repeatedName(text: Buffer, body: Fields, names: number): string | undefined {
  return membersOf(body) === names ? undefined : findRepeated(text);
}

function membersOf(value: object): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object' && item !== null) {
        count += membersOf(item);
      }
    }
    return count;
  }
  for (const name in value) {
    count += 1;
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object' && member !== null) {
      count += membersOf(member);
    }
  }
  return count;
}

/** Names of an open object; undefined for a list. */
type Open = Set<string> | undefined;

function findRepeated(text: Buffer): string | undefined {
  const open: Open[] = [];
  let lastText = '';
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case brace:
        open.push(new Set());
        break;
      case bracket:
        open.push(undefined);
        break;
      case braceEnd:
      case bracketEnd:
        open.pop();
        break;
      case quote: {
        const end = endOfString(text, at + 1);
        lastText = text.toString('utf8', at, end + 1);
        at = end;
        break;
      }
      case colon: {
        const names = open.at(-1);
        const name = JSON.parse(lastText) as string;
        if (names?.has(name) === true) {
          return name;
        }
        names?.add(name);
        break;
      }
      default:
    }
  }
  return undefined;
}
