/**
 * JSON as a tree that keeps what `JSON.parse` loses: repeated names, their order, and the spelling of strings and numbers. Mutations change
 * such a tree; the provider reads one from the bytes that it receives.
 */

export interface Scalar {
  readonly kind: 'scalar';
  /** As it is written: `"a\u0062"`, `1e2`, `null`. */
  json: string;
}
export interface List {
  readonly kind: 'list';
  readonly items: Node[];
}
export interface Members {
  readonly kind: 'object';
  readonly members: Member[];
}
export interface Member {
  /** As it is written, with its quotes. */
  name: string;
  value: Node;
}
export type Node = Scalar | List | Members;

export function treeOf(value: unknown): Node {
  if (Array.isArray(value)) {
    return { kind: 'list', items: value.map(treeOf) };
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, inner]) => memberOf(name, inner));
    return { kind: 'object', members };
  }
  return { kind: 'scalar', json: JSON.stringify(value) };
}

export function memberOf(name: string, value: unknown): Member {
  return { name: JSON.stringify(name), value: treeOf(value) };
}

export function jsonOf(node: Node): string {
  switch (node.kind) {
    case 'scalar':
      return node.json;
    case 'list':
      return `[${node.items.map(jsonOf).join()}]`;
    case 'object':
      return `{${node.members.map(({ name, value }) => `${name}:${jsonOf(value)}`).join()}}`;
  }
}

/** Returns the text of a JSON string; undefined for other values. */
export function textOf(node: Node): string | undefined {
  return node.kind === 'scalar' && node.json.startsWith('"') ? (JSON.parse(node.json) as string) : undefined;
}

export function nameOf({ name }: Member): string {
  return JSON.parse(name) as string;
}

/** Returns every object in a tree, the outermost first. */
export function objectsIn(node: Node): Members[] {
  switch (node.kind) {
    case 'scalar':
      return [];
    case 'list':
      return node.items.flatMap(objectsIn);
    case 'object':
      return [node, ...node.members.flatMap(({ value }) => objectsIn(value))];
  }
}

export class InvalidJson extends Error {}

/** Deeper values are rejected, as most providers do. */
const depthMax = 500;

/** Parses a text. Throws `InvalidJson` for what is not JSON, or too deep. */
export function parseTree(text: string): Node {
  const parser = new TreeParser(text);
  return parser.whole();
}

const literal = /-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null/y;
const string = /"(?:[^"\\]|\\.)*"/sy;
const space = /[ \t\r\n]*/y;

class TreeParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Node {
    const node = this.#value(0);
    this.#match(space);
    if (this.#at < this.#text.length) {
      throw new InvalidJson('text after the value');
    }
    return node;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #takes(character: string): boolean {
    this.#match(space);
    const isNext = this.#text[this.#at] === character;
    this.#at += isNext ? 1 : 0;
    return isNext;
  }

  #value(depth: number): Node {
    if (depth > depthMax) {
      throw new InvalidJson('too deep');
    }
    if (this.#takes('[')) {
      const items: Node[] = [];
      while (!this.#takes(']')) {
        this.#separator(items.length);
        items.push(this.#value(depth + 1));
      }
      return { kind: 'list', items };
    }
    if (this.#takes('{')) {
      const members: Member[] = [];
      while (!this.#takes('}')) {
        this.#separator(members.length);
        const name = this.#string();
        if (!this.#takes(':')) {
          throw new InvalidJson('no colon');
        }
        members.push({ name, value: this.#value(depth + 1) });
      }
      return { kind: 'object', members };
    }
    return { kind: 'scalar', json: this.#match(literal) ?? this.#string() };
  }

  #separator(count: number): void {
    if (count > 0 && !this.#takes(',')) {
      throw new InvalidJson('no comma');
    }
  }

  #string(): string {
    this.#match(space);
    const found = this.#match(string);
    if (found === undefined) {
      throw new InvalidJson('no value');
    }
    try {
      JSON.parse(found);
    } catch {
      throw new InvalidJson('no string');
    }
    return found;
  }
}
