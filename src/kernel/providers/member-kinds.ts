/**
 * Kinds of content in the members of a request. The table of each format assigns a kind to every member that is documented, or that
 * clients send.
 */

export type MemberKind =
  /** A string, number or boolean, or a list of them. */
  | 'text'
  /** Free-form JSON that the provider writes into the prompt unchanged. Its member names have no meaning to the reader. */
  | 'json'
  /** Options in objects and lists, without content. */
  | 'settings'
  /** Content that only the provider can decrypt, such as reasoning. It has at most as many tokens as bytes. */
  | 'encrypted'
  /** Audio, files and other content whose tokens do not follow from its size. */
  | 'blob'
  /** The name of content that is not in the request. */
  | 'reference'
  /** Offers a tool that the provider runs (`offered-tools.ts`). */
  | 'tool'
  /** The URL or the data of an image. */
  | 'image'
  | 'imageSource'
  /** The data of an image, without its type. */
  | 'imageBytes'
  /** An object with media in base64, and their type. */
  | 'inlineMedia'
  /** The tools that the request offers. */
  | 'tools'
  | ListOf
  | ObjectOf
  | DocumentOf
  | PartsOf;

/** A list of objects. */
export interface ListOf {
  readonly listOf: MemberTable;
  /** True if the provider reads a single object as a list of it. */
  readonly mayBeOne?: boolean;
}

export interface ObjectOf {
  readonly objectOf: MemberTable;
}

/** The source of a document: data, or blocks of content. */
export interface DocumentOf {
  readonly documentOf: PartsOf;
}

/** A text, or a list of objects. The type of each object selects its table. */
export interface PartsOf {
  readonly types: ReadonlyMap<string, MemberTable>;
  /** The table of objects without a type, if the format has such objects. */
  readonly untyped: MemberTable | undefined;
}

export type MemberTable = ReadonlyMap<string, MemberKind>;

/** The members of a request, and those of a tool that the client runs. */
export interface FormatMembers {
  readonly request: MemberTable;
  readonly tool: MemberTable;
}

type Members = Readonly<Record<string, MemberKind>>;

/** `texts` are the names of members of the kind `text`, separated by spaces. */
export function members(texts: string, others: Members = {}): MemberTable {
  const table = new Map<string, MemberKind>(Object.entries(others));
  for (const name of texts.split(' ')) {
    table.set(name, 'text');
  }
  return table;
}

/** `types` are the tables of parts by their type. Each part has a type. */
export function parts(types: Readonly<Record<string, MemberTable>>, untyped?: MemberTable): PartsOf {
  const withType = Object.entries(types).map(
    ([type, table]) => [type, new Map([...table, ['type', 'text' as const]])] as const,
  );
  return { types: new Map(withType), untyped };
}

export function listOf(table: MemberTable): ListOf {
  return { listOf: table };
}

export function listOrOne(table: MemberTable): ListOf {
  return { listOf: table, mayBeOne: true };
}

export function objectOf(table: MemberTable): ObjectOf {
  return { objectOf: table };
}

export function documentOf(content: PartsOf): DocumentOf {
  return { documentOf: content };
}
