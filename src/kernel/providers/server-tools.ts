/** Tools that a provider runs and charges per call. Not every provider counts the calls in its usage. */
import { type Fields, fieldsOf } from './fields.ts';

/** Numbers of calls by tool. The name of the tool is the unit of a price. */
export type ServerTools = Readonly<Record<string, number>>;

/** Anthropic charges only the tokens that this tool fetches. */
export const freeTool = 'web_fetch';

/** OpenAI's chat models that search the web once in every call. */
const searchModel = /(?<![a-z0-9])gpt-[\w.]+(-mini)?-search-(preview|api)/i;

const oneSearch: ServerTools = { web_search: 1 };
export const noServerTools: ServerTools = {};

const unitName = /^[a-z][a-z0-9_]{0,40}(:[A-Za-z0-9._/-]{1,20})?$/;
const webSearch = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2}|_\d{8})?$/;

/** Returns the unit of a tool type, without its date. A type that cannot be the name of a unit has the unit `tool`. */
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

/** Returns the searches in the output of a response. */
export function toolsInOutput(output: unknown): ServerTools {
  const searches = Array.isArray(output) ? output.filter(isSearch).length : 0;
  return searches === 0 ? noServerTools : { web_search: searches };
}

/** Returns true for a web search that is charged. Opening a page and finding text in it are free calls of the same tool. */
export function isSearch(item: unknown): boolean {
  const { type, status, action } = fieldsOf(item);
  const { type: actionType = 'search' } = fieldsOf(action);
  return type === 'web_search_call' && status !== 'failed' && actionType === 'search';
}

/** Types of the items of a response that are calls of client-run tools. A shell call may be either; the request decides. */
const clientCalls = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'apply_patch_call',
]);
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
    return isSearch({ type, status, action }) ? 'web_search' : undefined;
  }
  return type.endsWith('_call') && !clientCalls.has(type)
    ? unitOf(type.slice(0, -'_call'.length))
    : undefined;
}

/** Returns the number of calls of a tool. Its name may equal an inherited property, such as `constructor`. */
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
