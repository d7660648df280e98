/** The names in the tables of all formats, as a lenient parser compares names. */
import { allFormats } from './formats.ts';
import type { MemberKind, MemberTable } from './member-kinds.ts';

/** Names inside of settings, sources and tools of providers that decide about the content or the cost of a call. */
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

/** Names of content that is not in the request, wherever they are. */
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

const knownNames = namesOf(allFormats.flatMap(({ request: { members } }) => [members.request, members.tool]));

/** Known names by their folded form. */
const byFold = new Map([...knownNames].map((name) => [foldedName(name), name]));

/** Letters and digits alone, in one case and one form: `maxTokens`, ` max-tokens` and `MAX_TOKENS` are one name. */
export function foldedName(name: string): string {
  // Upper case first: it unites letters that have one lower case each, such as both forms of the Greek sigma.
  return name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Longer names are no spelling of a known one. */
const spellingMax = 100;

/** Returns the known name that another parser may take this name for; undefined if there is none, or if it is that name. */
export function knownNameLike(name: string): string | undefined {
  if (name.length > spellingMax || knownNames.has(name)) {
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
