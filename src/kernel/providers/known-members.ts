/** The names in the tables of all formats, and the comparison by which a lenient parser finds them. */
import type { CallFormat, NameStyle } from './call-format.ts';
import { allFormats } from './formats.ts';
import type { MemberKind, MemberTable } from './member-kinds.ts';

/** Further names, inside settings, sources and tools, that decide the content or the cost of a call. */
const otherNames = [
  ...[
    'include_usage',
    'effort',
    'budget_tokens',
    'max_uses',
    'url',
    'data',
    'media_type',
    'format',
    'schema',
    'ttl',
    'edits',
  ],
  ...[
    'vector_store_ids',
    'server_url',
    'connector_id',
    'file_ids',
    'connector_ids',
    'allowed_tools',
    'name',
    'type',
    'id',
  ],
];

/** Members that refer to content outside of the request, wherever they stand. */
export const referenceNames: ReadonlySet<string> = new Set([
  ...[
    'previous_response_id',
    'previous_message_id',
    'conversation',
    'file_id',
    'file_url',
    'file_ids',
    'container',
  ],
  ...['vector_store_ids', 'mcp_servers', 'server_url', 'connector_id', 'cached_content', 'data_sources'],
]);

interface KnownNames {
  readonly names: ReadonlySet<string>;
  /** The names by their folded form. */
  readonly byFold: ReadonlyMap<string, string>;
}

/** Formats of one style do not know the names of the other, so that these are other spellings of theirs. */
const byStyle: Readonly<Record<NameStyle, KnownNames>> = {
  snake_case: knownNamesOf(ofStyle('snake_case')),
  camelCase: knownNamesOf(ofStyle('camelCase')),
  any: knownNamesOf(allFormats),
};

function ofStyle(style: NameStyle): readonly CallFormat[] {
  return allFormats.filter(({ request }) => request.nameStyle === style);
}

function knownNamesOf(formats: readonly CallFormat[]): KnownNames {
  const names = namesOf(formats.flatMap(({ request: { members } }) => [members.request, members.tool]));
  return { names, byFold: new Map([...names].map((name) => [foldedName(name), name])) };
}

/** Returns the letters and digits of a name in one case and one Unicode form: `maxTokens`, ` max-tokens` and `MAX_TOKENS` are one name. */
export function foldedName(name: string): string {
  // Upper case first, because it merges letters with several lower-case forms, such as the Greek sigma.
  return name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Longer names are not compared. */
const spellingMax = 100;

/** Returns the known name that another parser may take this name for; undefined if there is none, or if the name is known itself. */
export function knownNameLike(name: string, style: NameStyle): string | undefined {
  const { names, byFold } = byStyle[style];
  if (name.length > spellingMax || names.has(name)) {
    return undefined;
  }
  return byFold.get(foldedName(name));
}

function namesOf(tables: readonly MemberTable[]): ReadonlySet<string> {
  const names = new Set<string>([...otherNames, ...referenceNames]);
  const seen = new Set<MemberTable>();
  const addKind = (kind: MemberKind): void => {
    if (typeof kind === 'string') {
      return;
    }
    if ('types' in kind) {
      for (const table of [...kind.types.values(), ...(kind.untyped === undefined ? [] : [kind.untyped])]) {
        addTable(table);
      }
    } else if ('documentOf' in kind) {
      addKind(kind.documentOf);
    } else {
      addTable('listOf' in kind ? kind.listOf : kind.objectOf);
    }
  };
  const addTable = (table: MemberTable): void => {
    if (!seen.has(table)) {
      seen.add(table);
      for (const [name, kind] of table) {
        names.add(name);
        addKind(kind);
      }
    }
  };
  for (const table of tables) {
    addTable(table);
  }
  return names;
}
