/** Tools that a provider runs and charges for by the call. Not every provider counts them in its usage. */
import { type Fields, fieldsOf } from './fields.ts';

/** Numbers of calls by the name of the tool, which is the unit of a price. */
export type ServerTools = Readonly<Record<string, number>>;

/** Anthropic charges the tokens that it fetches, and nothing besides. */
export const freeTool = 'web_fetch';

/** OpenAI's models for chats that search the web once for each call. */
const searchModel = /(?<![a-z0-9])gpt-[\w.]+(-mini)?-search-(preview|api)/i;

const oneSearch: ServerTools = { web_search: 1 };
export const noServerTools: ServerTools = {};

const unitName = /^[a-z][a-z0-9_]{0,40}(:[A-Za-z0-9._/-]{1,20})?$/;
const webSearch = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2}|_\d{8})?$/;

/** Returns the unit of a type: without its date. A type that cannot name a unit has the unit `tool`. */
export function unitOf(type: unknown): string {
  if (typeof type !== 'string') {
    return 'tool';
  }
  if (webSearch.test(type)) {
    return 'web_search';
  }
  const name = type.replace(/_\d{8}$/, '');
  return unitName.test(name) ? name : 'tool';
}

export function searchesOfModel(model: unknown): ServerTools {
  return typeof model === 'string' && searchModel.test(model) ? oneSearch : noServerTools;
}

/** Returns the calls that the output of a response (`responses`) shows. */
export function toolsInOutput(output: unknown): ServerTools {
  const searches = Array.isArray(output) ? output.filter(isSearch).length : 0;
  return searches === 0 ? noServerTools : { web_search: searches };
}

/** True for a search of the web. Opening a page and finding text in it are calls of the same tool, but free. */
export function isSearch(item: unknown): boolean {
  const { type, status, action } = fieldsOf(item);
  const { type: actionType = 'search' } = fieldsOf(action);
  return type === 'web_search_call' && status !== 'failed' && actionType === 'search';
}

/** Items of a response that are calls of tools which the client runs. A shell may be either; the request says which. */
const clientCalls = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'apply_patch_call',
]);
/** The names of Anthropic's calls of one tool. */
const unitsOfCalls: ReadonlyMap<string, string> = new Map([
  ['bash_code_execution', 'code_execution'],
  ['text_editor_code_execution', 'code_execution'],
]);

/** Returns the unit of the tool that an item of a response, or a block of a message, is a call of; undefined if it is none. */
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
    return isSearch({ type, status, action }) ? 'web_search' : undefined;
  }
  return type.endsWith('_call') && !clientCalls.has(type)
    ? unitOf(type.slice(0, -'_call'.length))
    : undefined;
}

/** The tool may be named like a member that every object has, such as `constructor`. */
export function countedCalls(tools: ServerTools, name: string): number {
  return Object.hasOwn(tools, name) ? (tools[name] as number) : 0;
}

/** Counts the calls of tools that the provider has run, by unit, in the items of a response or the blocks of a message. */
export function callsIn(items: unknown): ServerTools {
  const calls: Record<string, number> = {};
  for (const item of Array.isArray(items) ? items : []) {
    const tool = calledTool(fieldsOf(item));
    if (tool !== undefined) {
      calls[tool] = countedCalls(calls, tool) + 1;
    }
  }
  return calls;
}

/** Returns the larger number of calls of each tool. */
export function mostCalls(one: ServerTools, other: ServerTools): ServerTools {
  return withServerTools({ serverTools: one }, other).serverTools;
}

/** Returns the usage with at least these calls of tools. */
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
