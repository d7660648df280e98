/** Tools that a provider runs and charges per call. Not every provider counts the calls in its usage. */
import { type Fields, fieldsOf } from './fields.ts';

/** Numbers of calls by tool. The name of the tool is the unit of a price. */
export type ServerTools = Readonly<Record<string, number>>;

/** Tools of which Anthropic and xAI charge the tokens alone. */
export const freeTools: ReadonlySet<string> = new Set(['web_fetch', 'mcp']);

/** Chat models of OpenAI and Perplexity that search the web once in every call. */
const searchModel =
  /(?<![a-z0-9])gpt-[\w.]+(-mini)?-search-(preview|api)|^(perplexity\/)*sonar(-pro|(-reasoning|-deep)[a-z-]*)?$/i;

const oneSearch: ServerTools = { web_search: 1 };
export const noServerTools: ServerTools = {};

const unitName = /^[a-z][a-z0-9_]{0,40}(:[A-Za-z0-9._/-]{1,20})?$/;
const webSearch =
  /^(web_search(_preview)?(_\d{4}_\d{2}_\d{2}|_\d{8})?|google_?search(_retrieval)?|googleSearch(Retrieval)?)$/;
const mapsQuery = /^(google_maps|googleMaps)$/;

/** Returns the unit of a tool type, without its date. A type that cannot be the name of a unit has the unit `tool`. */
export function unitOf(type: unknown): string {
  if (typeof type !== 'string') {
    return 'tool';
  }
  if (webSearch.test(type)) {
    return 'web_search';
  }
  if (mapsQuery.test(type)) {
    return 'maps_query';
  }
  const name = type.replace(/_\d{8}$/, '');
  return unitName.test(name) ? name : 'tool';
}

export function searchesOfModel(model: unknown): ServerTools {
  return typeof model === 'string' && searchModel.test(model) ? oneSearch : noServerTools;
}

/** Tools of the Responses API that are charged per call or container, and never run by the client. */
const chargedTools = ['web_search', 'x_search', 'file_search', 'code_interpreter', 'image_generation'];

/** Returns the charged calls in the output of a response. */
export function toolsInOutput(output: unknown): ServerTools {
  return tallyOf(output).charged;
}

/** Returns true for a web search that is charged. Opening a page and finding text in it are free calls of the same tool. */
function isSearch({ status, action }: Fields): boolean {
  const { type: actionType = 'search' } = fieldsOf(action);
  return status !== 'failed' && actionType === 'search';
}

/** Types of the items of a response that are calls of client-run tools. A shell call may be either; the request decides. */
const clientCalls = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'apply_patch_call',
]);
/** xAI shows searches of X as calls of these tools. */
const xSearch = /^x_(keyword_search|semantic_search|user_search|thread_fetch)$/;
/** Anthropic has several names for calls of one tool. */
const unitsOfCalls: ReadonlyMap<string, string> = new Map([
  ['bash_code_execution', 'code_execution'],
  ['text_editor_code_execution', 'code_execution'],
]);

/** Returns the unit of the provider-run tool that an item or block calls; undefined if it is not such a call. */
export function calledTool({ type, name, status, action }: Fields): string | undefined {
  if (typeof type !== 'string') {
    return undefined;
  }
  if (type === 'server_tool_use' && typeof name === 'string') {
    return unitOf(unitsOfCalls.get(name) ?? name);
  }
  if (type === 'mcp_tool_use' || type === 'mcp_call') {
    return 'mcp';
  }
  if (type === 'web_search_call') {
    return isSearch({ status, action }) ? 'web_search' : undefined;
  }
  if (type === 'custom_tool_call' && typeof name === 'string' && xSearch.test(name)) {
    return 'x_search';
  }
  return type.endsWith('_call') && !clientCalls.has(type)
    ? unitOf(type.slice(0, -'_call'.length))
    : undefined;
}

/** Returns the number of calls of a tool. Its name may equal an inherited property, such as `constructor`. */
export function countedCalls(tools: ServerTools, name: string): number {
  return Object.hasOwn(tools, name) ? (tools[name] as number) : 0;
}

/** Counts the calls of tools that the provider has run, by unit. Calls in one container count once, because it is what is charged. */
export class ToolTally {
  #calls: ServerTools = noServerTools;
  readonly #containers = new Set<string>();

  get calls(): ServerTools {
    return this.#calls;
  }

  /** The calls that are charged, and that the client cannot have run. */
  get charged(): ServerTools {
    const counts = chargedTools.map((name) => [name, countedCalls(this.#calls, name)] as const);
    const hostedShells = [...this.#containers].filter((key) => key.startsWith('shell ')).length;
    const charged = [...counts, ['shell', hostedShells] as const].filter(([, count]) => count > 0);
    return charged.length === 0 ? noServerTools : Object.fromEntries(charged);
  }

  add(item: unknown): void {
    const fields = fieldsOf(item);
    const tool = calledTool(fields);
    if (tool === undefined) {
      return;
    }
    const container = containerOf(fields);
    const key = container === undefined ? undefined : `${tool} ${container}`;
    if (key === undefined || !this.#containers.has(key)) {
      this.#calls = { ...this.#calls, [tool]: countedCalls(this.#calls, tool) + 1 };
      if (key !== undefined) {
        this.#containers.add(key);
      }
    }
  }

  /** Counts at least these calls. */
  raise(calls: ServerTools): void {
    this.#calls = mostCalls(this.#calls, calls);
  }
}

/** Returns the id of the container in which OpenAI has run a call. */
function containerOf({ type, container_id: id, environment }: Fields): string | undefined {
  const container =
    type === 'code_interpreter_call'
      ? id
      : type === 'shell_call'
        ? fieldsOf(environment).container_id
        : undefined;
  return typeof container === 'string' && container !== '' ? container : undefined;
}

/** Counts the calls in the items of a response or the blocks of a message. */
export function callsIn(items: unknown): ServerTools {
  return tallyOf(items).calls;
}

function tallyOf(items: unknown): ToolTally {
  const tally = new ToolTally();
  for (const item of Array.isArray(items) ? items : []) {
    tally.add(item);
  }
  return tally;
}

/** Returns the larger number of calls of each tool. */
export function mostCalls(one: ServerTools, other: ServerTools): ServerTools {
  return withServerTools({ serverTools: one }, other).serverTools;
}

/** Returns the usage with at least the seen calls of each tool. */
export function withServerTools<Usage extends { readonly serverTools: ServerTools }>(
  usage: Usage,
  seen: ServerTools,
): Usage {
  if (Object.keys(seen).length === 0) {
    return usage;
  }
  const serverTools: Record<string, number> = { ...usage.serverTools };
  for (const [name, calls] of Object.entries(seen)) {
    serverTools[name] = Math.max(countedCalls(serverTools, name), calls);
  }
  return { ...usage, serverTools };
}
