/** Changes single members of a JSON body in its text. All other bytes stay as the client sent them. */
import { itemsAt, type JsonMember, membersAt, objectStartOf } from './json-positions.ts';

/** New values by member name. A dot names a member of an inner object (`stream_options.include_usage`). */
export type BodyChanges = Readonly<Record<string, string | number | boolean | readonly string[]>>;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** New member names by the current ones. */
export type BodyRenames = Readonly<Record<string, string>>;

/** Returns the body with these members changed and renamed. Missing members are added at the start of their object. */
export function editBody(body: Buffer, changes: BodyChanges, renames: BodyRenames = {}): Buffer {
  const names = Object.keys(changes);
  const renamed = Object.keys(renames);
  if (names.length === 0 && renamed.length === 0) {
    return body;
  }
  const start = objectStartOf(body);
  if (start === undefined) {
    throw new Error('the body is not an object');
  }
  const members = membersAt(body, start);
  const edits: Edit[] = [];
  const added: string[] = [];
  const addedTo = new Map<JsonMember, string[]>();
  for (const name of names) {
    const value = JSON.stringify(changes[name]);
    const [outer = '', inner] = name.split('.');
    const member = lastNamed(members, outer);
    if (inner === undefined) {
      if (member === undefined) {
        added.push(`${JSON.stringify(outer)}:${value}`);
      } else {
        edits.push({ start: member.valueStart, end: member.valueEnd, text: value });
      }
    } else if (member === undefined || body[member.valueStart] !== openBrace) {
      const object = `{${JSON.stringify(inner)}:${value}}`;
      if (member === undefined) {
        added.push(`${JSON.stringify(outer)}:${object}`);
      } else {
        edits.push({ start: member.valueStart, end: member.valueEnd, text: object });
      }
    } else {
      const found = lastNamed(membersAt(body, member.valueStart), inner);
      if (found === undefined) {
        addedTo.set(member, [...(addedTo.get(member) ?? []), `${JSON.stringify(inner)}:${value}`]);
      } else {
        edits.push({ start: found.valueStart, end: found.valueEnd, text: value });
      }
    }
  }
  for (const name of renamed) {
    const member = lastNamed(members, name);
    if (member !== undefined) {
      const { start: nameStart, valueStart } = member;
      edits.push({ start: nameStart, end: valueStart, text: `${JSON.stringify(renames[name])}:` });
    }
  }
  for (const [member, texts] of addedTo) {
    edits.push(insertion(body, member.valueStart, texts));
  }
  if (added.length > 0) {
    edits.push(insertion(body, start, added));
  }
  return apply(body, edits);
}

/** Returns the body without these members. */
export function removeMembers(body: Buffer, names: ReadonlySet<string>): Buffer {
  const start = objectStartOf(body);
  const members = start === undefined ? [] : membersAt(body, start);
  const lastKept = members.findLastIndex(({ name }) => !names.has(name));
  const edits: Edit[] = [];
  for (const [index, { name, start: from }] of members.entries()) {
    if (index < lastKept && names.has(name)) {
      edits.push({ start: from, end: members[index + 1]?.start ?? from, text: '' });
    }
  }
  const last = members.at(-1);
  if (last !== undefined && lastKept < members.length - 1) {
    const from = members[lastKept]?.valueEnd ?? members[0]?.start ?? last.valueEnd;
    edits.push({ start: from, end: last.valueEnd, text: '' });
  }
  return edits.length === 0 ? body : apply(body, edits);
}

/** Returns the body with this text in place of the member of each object in a list. Objects without the member stay as they are. */
export function editEach(body: Buffer, list: string, name: string, value: string): Buffer {
  const start = objectStartOf(body);
  const found = start === undefined ? undefined : lastNamed(membersAt(body, start), list);
  if (found === undefined || body[found.valueStart] !== openBracket) {
    return body;
  }
  const edits = itemsAt(body, found.valueStart)
    .filter((at) => body[at] === openBrace)
    .flatMap((at) => membersAt(body, at))
    .filter((member) => member.name === name)
    .map(({ valueStart, valueEnd }) => ({
      start: valueStart,
      end: valueEnd,
      text: JSON.stringify(value),
    }));
  return apply(body, edits);
}

const openBrace = 0x7b;
const openBracket = 0x5b;

function lastNamed(members: readonly JsonMember[], name: string): JsonMember | undefined {
  return members.findLast((member) => member.name === name);
}

function insertion(body: Buffer, objectStart: number, texts: readonly string[]): Edit {
  const isEmpty = membersAt(body, objectStart).length === 0;
  const at = objectStart + 1;
  return { start: at, end: at, text: `${texts.join()}${isEmpty ? '' : ','}` };
}

function apply(body: Buffer, edits: readonly Edit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    pieces.push(body.subarray(at, start), Buffer.from(text));
    at = end;
  }
  pieces.push(body.subarray(at));
  return Buffer.concat(pieces);
}
