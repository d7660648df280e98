/** Reads configuration files: YAML documents with the position of each field, amounts as text, and secrets by reference. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Document, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, visit } from 'yaml';
import { amountFields, referableFields, secretFields } from '../../contract/configuration-files.ts';

/** The configuration of one organization. */
export interface ConfigurationDocument {
  /** Name of its file, for messages. */
  readonly source: string;
  readonly configuration: Readonly<Record<string, unknown>> & {
    readonly org?: Readonly<Record<string, unknown>>;
  };
  /** Warnings about references to variables that are not set. Their fields are left out. */
  readonly warnings: readonly string[];
  /** Returns the position of a field, such as `purser.yaml:12:5`. For a missing field, returns that of the nearest field around it. */
  placeOf(path: string): string;
  /** Returns the offset of the field in the file. */
  offsetOf(path: string): number;
}

/** The problems of a file, each with its position. */
export class InvalidConfiguration extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Maximum size of a file. It is more than the service accepts. */
const fileBytesMax = 16 * 1_048_576;

/** Reads configuration files; `-` is standard input. */
export async function readDocuments(files: readonly string[]): Promise<ConfigurationDocument[]> {
  const documents: ConfigurationDocument[] = [];
  const problems: string[] = [];
  for (const file of files) {
    const name = file === '-' ? 'stdin' : file;
    const source = await readSource(file);
    const folder = file === '-' ? process.cwd() : dirname(resolve(file));
    for (const parsed of parseFile(name, source)) {
      problems.push(...parsed.problems);
      const resolved = parsed.problems.length > 0 ? undefined : await resolveSecrets(parsed, folder);
      problems.push(...(resolved?.problems ?? []));
      if (resolved !== undefined) {
        documents.push(documentOf(parsed, resolved.warnings));
      }
    }
  }
  if (problems.length > 0) {
    throw new InvalidConfiguration(problems);
  }
  if (documents.length === 0) {
    throw new InvalidConfiguration([`${files.join(', ')}: there is no configuration in the file`]);
  }
  return documents;
}

async function readSource(file: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readConfigurationFile(file);
  if (bytes.length > fileBytesMax) {
    throw new InvalidConfiguration([`${file}: the file is too large`]);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InvalidConfiguration([`${file}: the file is not encoded in UTF-8`]);
  }
}

async function readConfigurationFile(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new InvalidConfiguration([`${file}: the file cannot be read: ${(error as Error).message}`]);
  }
}

interface ParsedDocument {
  readonly source: string;
  readonly document: Document;
  readonly lines: LineCounter;
  readonly problems: string[];
}

function parseFile(source: string, yaml: string): ParsedDocument[] {
  const lines = new LineCounter();
  const found = parseAllDocuments(yaml, { lineCounter: lines });
  const documents = Array.isArray(found) ? found : [];
  return documents
    .filter(({ contents, errors }) => contents !== null || errors.length > 0)
    .map((document) => {
      const place = (offset: number) => placeAt(source, lines, offset);
      const problems = document.errors.map(({ message, pos }) => `${place(pos[0])} ${firstLine(message)}`);
      if (problems.length === 0 && !isMap(document.contents)) {
        problems.push(`${place(document.contents?.range?.[0] ?? 0)} The configuration must be an object.`);
      }
      if (problems.length === 0) {
        amountsAsText(document as Document);
        problems.push(
          ...infiniteNumbers(document as Document).map((offset) => `${place(offset)} ${tooLarge}`),
        );
      }
      return { source, document: document as Document, lines, problems };
    });
}

/** Returns the first line of a parser message without its position. The other lines show the line of the file. */
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '.');
}

function placeAt(source: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${source}:${line}:${col}`;
}

function documentOf(parsed: ParsedDocument, warnings: readonly string[]): ConfigurationDocument {
  const { source, document, lines } = parsed;
  return {
    source,
    warnings,
    configuration: document.toJS() as ConfigurationDocument['configuration'],
    placeOf: (path) => placeAt(source, lines, offsetOf(document, path)),
    offsetOf: (path) => offsetOf(document, path),
  };
}

/** Converts amounts to text, so that `limit_usd: 50.10` means `50.10`. */
function amountsAsText(document: Document): void {
  visit(document, {
    Pair(_, pair, path) {
      const { key, value } = pair;
      const parent = path.at(-2);
      const ofUnits =
        parent !== undefined && 'key' in parent && isScalar(parent.key) && parent.key.value === 'units';
      const isAmount = isScalar(key) && (ofUnits || amountFields.test(String(key.value)));
      if (isAmount && isScalar(value) && typeof value.value === 'number' && value.source !== undefined) {
        value.value = value.source;
      }
    },
  });
}

const tooLarge = 'The number is too large. For no limit, write null.';

/**
 * Returns the offsets of numbers that JSON does not support, such as `.inf` and `1e400`. JSON would turn them into null, which
 * means no limit.
 */
function infiniteNumbers(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, {
    Scalar(_, { value, range }) {
      if (typeof value === 'number' && !Number.isFinite(value)) {
        offsets.push(range?.[0] ?? 0);
      }
    },
  });
  return offsets;
}

/** Splits a path into keys: `budgets[1].limit_usd` becomes `budgets`, 1, `limit_usd`. */
function keysOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name ?? '') : Number(index),
  );
}

/** Returns the offset of the field, including its name. */
function offsetOf({ contents }: Document, path: string): number {
  let node: unknown = contents;
  let offset = rangeStart(contents) ?? 0;
  for (const key of keysOf(path)) {
    if (isSeq(node) && typeof key === 'number') {
      node = node.items[key];
      offset = rangeStart(node) ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === String(key));
      if (pair === undefined) {
        return offset;
      }
      offset = rangeStart(pair.key) ?? offset;
      node = pair.value;
    } else {
      return offset;
    }
  }
  return offset;
}

function rangeStart(node: unknown): number | undefined {
  return (node as { range?: readonly number[] } | null | undefined)?.range?.[0];
}

/** Replaces `{ env: NAME }` and `{ file: path }` by the secret. If the variable is not set, the field is left out. */
async function resolveSecrets(
  parsed: ParsedDocument,
  folder: string,
): Promise<{ readonly problems: string[]; readonly warnings: string[] }> {
  const { document, source, lines } = parsed;
  const [problems, warnings] = [[] as string[], [] as string[]];
  for (const { section, field } of [...secretFields, ...referableFields]) {
    const isReferable = referableFields.some((one) => one.section === section && one.field === field);
    const value = document.get(section);
    const items = isSeq(value) ? value.items : [value];
    for (const item of items) {
      const reference = isMap(item) ? item.getIn(field.split('.'), true) : undefined;
      if (!isMap(item) || reference === undefined || (isReferable && !isMap(reference))) {
        continue;
      }
      const place = `${placeAt(source, lines, rangeStart(reference) ?? 0)} ${field}`;
      const { secret, problem, warning } = await readSecret(toJs(reference, document), folder);
      if (problem !== undefined) {
        problems.push(`${place}: ${problem}`);
      } else if (secret === undefined && isReferable) {
        problems.push(`${place}: ${warning}`);
      } else if (secret === undefined) {
        item.deleteIn(field.split('.'));
        warnings.push(`${place}: ${warning}, so the field is left out`);
      } else {
        item.setIn(field.split('.'), secret);
      }
    }
  }
  return { problems, warnings };
}

function toJs(node: unknown, document: Document): unknown {
  return (node as { toJS?(document: Document): unknown }).toJS?.(document);
}

interface ReadSecret {
  readonly secret?: string;
  readonly problem?: string;
  readonly warning?: string;
}

const howToRefer = 'Write { env: NAME } for a variable of this shell, or { file: PATH } for a file.';

async function readSecret(reference: unknown, folder: string): Promise<ReadSecret> {
  if (reference === null || typeof reference !== 'object') {
    return { problem: `Secrets do not belong in the file. ${howToRefer}` };
  }
  const { env, file, ...others } = reference as { env?: unknown; file?: unknown };
  if (Object.keys(others).length > 0 || (typeof env === 'string') === (typeof file === 'string')) {
    return { problem: howToRefer };
  }
  if (typeof env === 'string') {
    const secret = process.env[env];
    return secret === undefined || secret === '' ? { warning: `the variable ${env} is not set` } : { secret };
  }
  try {
    return { secret: (await readFile(resolve(folder, String(file)), 'utf8')).trim() };
  } catch (error) {
    return { problem: `The file cannot be read: ${error instanceof Error ? error.message : error}` };
  }
}
