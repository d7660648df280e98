/** Tools that a provider runs and charges for by the call. Not every provider counts them in its usage. */
import { fieldsOf } from './fields.ts';

/** Numbers of calls by the name of the tool, which is the unit of a price. */
export type ServerTools = Readonly<Record<string, number>>;

/** Anthropic charges the tokens that it fetches, and nothing besides. */
export const freeTool = 'web_fetch';

/** OpenAI's models for chats that search the web once for each call. */
const searchModel = /(?<![a-z0-9])gpt-[\w.]+(-mini)?-search-(preview|api)/i;

const oneSearch: ServerTools = { web_search: 1 };
const noTools: ServerTools = {};

export function searchesOfModel(model: unknown): ServerTools {
  return typeof model === 'string' && searchModel.test(model) ? oneSearch : noTools;
}

/** Returns the calls that the output of a response (`responses`) shows. */
export function toolsInOutput(output: unknown): ServerTools {
  const searches = Array.isArray(output) ? output.filter(isSearch).length : 0;
  return searches === 0 ? noTools : { web_search: searches };
}

/** True for a search of the web. Opening a page and finding text in it are calls of the same tool, but free. */
export function isSearch(item: unknown): boolean {
  const { type, status, action } = fieldsOf(item);
  const { type: actionType = 'search' } = fieldsOf(action);
  return type === 'web_search_call' && status !== 'failed' && actionType === 'search';
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
    serverTools[name] = Math.max(serverTools[name] ?? 0, calls);
  }
  return { ...usage, serverTools };
}
