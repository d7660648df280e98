/**
 * The published rules of the Common Event Format: the header, the escapes, and those keys of the dictionary that an
 * export may use, with their types and lengths.
 */
import { isIPv4, isIPv6 } from 'node:net';

export interface CefEvent {
  readonly header: readonly string[];
  readonly extension: ReadonlyMap<string, string>;
}

type Rule = (value: string) => boolean;
const text =
  (lengthMax: number): Rule =>
  (value) =>
    value.length <= lengthMax;
const long: Rule = (value) => /^-?\d{1,19}$/.test(value);
const milliseconds: Rule = (value) => /^\d{13}$/.test(value);

const dictionary: Readonly<Record<string, Rule>> = {
  rt: milliseconds,
  externalId: text(40),
  cat: text(1_023),
  act: text(63),
  outcome: text(63),
  reason: text(1_023),
  suid: text(1_023),
  spriv: text(1_023),
  src: isIPv4,
  c6a2: isIPv6,
  c6a2Label: text(1_023),
  msg: text(1_023),
  cn1: long,
  cn1Label: text(1_023),
  ...Object.fromEntries(
    [1, 2, 3, 4, 5, 6].flatMap((n) => [
      [`cs${n}`, text(4_000)],
      [`cs${n}Label`, text(1_023)],
    ]),
  ),
};

/** Parses a line. Throws if no CEF reader could parse it. */
export function parseCef(line: string): CefEvent {
  if (/[\r\n]/.test(line)) {
    throw new Error('an event is one line');
  }
  if (/\p{Surrogate}/u.test(line)) {
    throw new Error('half of a character cannot be written in UTF-8');
  }
  const fields: string[] = [];
  let field = '';
  let at = 0;
  for (; fields.length < 7; at += 1) {
    const character = line[at];
    if (character === undefined) {
      throw new Error('the header has seven fields');
    }
    if (character === '\\') {
      at += 1;
      if (line[at] !== '\\' && line[at] !== '|') {
        throw new Error(`\\${line[at]} is no escape of a header`);
      }
      field += line[at];
    } else if (character === '|') {
      fields.push(field);
      field = '';
    } else {
      field += character;
    }
  }
  return { header: fields, extension: parseExtension(line.slice(at)) };
}

function parseExtension(rest: string): ReadonlyMap<string, string> {
  const extension = new Map<string, string>();
  // A key is at the start of the extension or follows a space, and ends at the first equals sign that is not escaped.
  for (const part of rest.split(/ (?=[A-Za-z0-9]+=)/)) {
    const equals = part.indexOf('=');
    const [key, raw] = [part.slice(0, equals), part.slice(equals + 1)];
    if (equals < 1 || extension.has(key)) {
      throw new Error(`${part} is no pair of its own`);
    }
    extension.set(key, unescapeValue(raw));
  }
  return extension;
}

function unescapeValue(raw: string): string {
  if (/(^|[^\\])(\\\\)*=/.test(raw)) {
    throw new Error(`an equals sign in ${raw} is not escaped`);
  }
  return raw.replaceAll(/\\(.?)/g, (_, escaped: string) => {
    const plain = { '\\': '\\', '=': '=', n: '\n', r: '\r' }[escaped];
    if (plain === undefined) {
      throw new Error(`\\${escaped} is no escape of an extension`);
    }
    return plain;
  });
}

/** Returns a message for each rule that the event violates. */
export function cefFaults({ header, extension }: CefEvent): string[] {
  const [version, vendor, product, , signature, name, severity] = header;
  const faults: string[] = [];
  if (version !== 'CEF:0') {
    faults.push(`${version} is no version`);
  }
  if ([vendor, product, signature, name].some((field) => field === '')) {
    faults.push('vendor, product, signature id and name must not be empty');
  }
  if (!/^(\d|10)$/.test(severity ?? '')) {
    faults.push(`${severity} is no severity from 0 to 10`);
  }
  for (const [key, value] of extension) {
    const rule = dictionary[key];
    if (rule === undefined) {
      faults.push(`${key} is not in the dictionary`);
    } else if (!rule(value)) {
      faults.push(`${key} must not be ${value}`);
    }
    if (/^(cs|cn|c6a)\d$/.test(key) && !extension.get(`${key}Label`)) {
      faults.push(`${key} has no label`);
    }
  }
  return faults;
}
