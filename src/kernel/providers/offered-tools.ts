/**
 * The tools that a request offers and that the provider runs: it charges for their calls, and their results become input of the same call.
 * A tool is one of these unless it is known to be run by the client.
 */
import type { CallFormat, ToolFormat } from './call-format.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { inlineTools } from './inline-tools.ts';
import { unitOf } from './server-tools.ts';

export interface OfferedTool {
  /** The `type` member of the tool. */
  readonly type: string;
  /** The unit that prices its calls. */
  readonly unit: string;
  /** The most calls that the request allows; undefined if it sets no maximum. */
  readonly callsMax: number | undefined;
  /** True if OpenAI and Anthropic charge only for the tokens of the tool. */
  readonly isTokensOnly: boolean;
  /** The model that an advisor uses. */
  readonly model: string | undefined;
  /** True if the container has more memory than usual, which costs up to 64 times as much. */
  readonly isLarge: boolean;
}

export const noTools: readonly OfferedTool[] = [];

/** Values of `tool_choice` that do not name a tool of the provider. */
const plainChoices = new Set<unknown>(['auto', 'none', 'any', 'required', 'tool', 'function', 'custom']);

const tokensOnly =
  /^(mcp|mcp_toolset|mcp_servers|tool_search|web_fetch_\d{8}|tool_search_tool_(regex|bm25)(_\d{8})?)$/;

/** Members besides `tools` that offer a tool, and the unit of each. */
const toolFields: Readonly<Record<string, string>> = {
  web_search_options: 'web_search',
  search_parameters: 'web_search',
  mcp_servers: 'mcp',
  container: 'container',
  web_search: 'web_search',
  enable_search: 'web_search',
};

export function offeredTools({ tools }: CallFormat, body: Fields): readonly OfferedTool[] {
  if (!tools.areOffered) {
    return noTools;
  }
  const found: OfferedTool[] = [];
  if (body.tools != null) {
    addTools(found, tools, body.tools);
  }
  addTools(found, tools, inlineTools(body));
  if (typeof body.tool_choice === 'object' && body.tool_choice !== null) {
    addChoice(found, tools, fieldsOf(body.tool_choice));
  }
  for (const name in toolFields) {
    if (body[name] != null && body[name] !== false) {
      found.push(toolOf(name, toolFields[name] as string, {}));
    }
  }
  for (const plugin of pluginsOf(body)) {
    const { id } = fieldsOf(plugin);
    found.push(
      toolOf(`plugins: ${typeof id === 'string' ? id : '?'}`, id === 'web' ? 'web_search' : 'plugin', {}),
    );
  }
  if (tools.hasStoredPrompts && typeof body.prompt === 'object' && body.prompt !== null) {
    found.push(toolOf('prompt', 'prompt', {}));
  }
  return found.length === 0 ? noTools : found;
}

/** Returns the plugins. A provider may read a value that is not a list as one plugin. */
function pluginsOf({ plugins }: Fields): readonly unknown[] {
  if (plugins == null || plugins === false) {
    return [];
  }
  return Array.isArray(plugins) ? plugins : [plugins];
}

function addTools(found: OfferedTool[], format: ToolFormat, tools: unknown): void {
  if (!Array.isArray(tools)) {
    found.push(toolOf('tools', 'tool', {}));
    return;
  }
  for (const tool of tools) {
    const fields = fieldsOf(tool);
    if (!format.isRunByClient(fields)) {
      const { type } = fields;
      found.push(toolOf(typeof type === 'string' ? type : '?', unitOf(type), fields));
    }
  }
}

/** Adds the tool that `tool_choice` names. By the documentation it must be one of `tools`, but a lenient provider may run others. */
function addChoice(found: OfferedTool[], format: ToolFormat, choice: Fields): void {
  if (choice.type === 'allowed_tools') {
    const { tools = fieldsOf(choice.allowed_tools).tools } = choice;
    for (const tool of Array.isArray(tools) ? tools : []) {
      addChoice(found, format, fieldsOf(tool));
    }
    return;
  }
  const unit = unitOf(choice.type);
  // A tool in `tools` was added already, with the maximum of its calls.
  const isOffered = found.some((tool) => tool.unit === unit);
  if (
    !plainChoices.has(choice.type) &&
    !format.isRunByClient(choice) &&
    choice.type !== 'shell' &&
    !isOffered
  ) {
    found.push(toolOf(`tool_choice: ${String(choice.type)}`, unit, {}));
  }
}

function toolOf(type: string, unit: string, tool: Fields): OfferedTool {
  const { max_uses: uses, model, container, environment } = tool;
  return {
    type: type.slice(0, 100),
    unit,
    callsMax: usesOf(uses),
    isTokensOnly: tokensOnly.test(type),
    model: unit === 'advisor' && typeof model === 'string' ? model : undefined,
    isLarge: [tool, container, environment].some(hasMoreMemory),
  };
}

function hasMoreMemory(container: unknown): boolean {
  const { memory_limit: memory } = fieldsOf(container);
  return memory != null && memory !== '1g';
}

/** Returns the maximum of calls; infinite if it is not a whole number, because providers may read such a maximum as any value. */
function usesOf(uses: unknown): number | undefined {
  if (uses == null) {
    return undefined;
  }
  return typeof uses === 'number' && Number.isSafeInteger(uses) && uses >= 0
    ? uses
    : Number.POSITIVE_INFINITY;
}

/** Returns true if the request lets the provider compact its context. A compaction reads the whole input once more and writes a summary. */
export function requestsCompaction({ context_management: management, compaction, input }: Fields): boolean {
  const edits = Array.isArray(management) ? management : fieldsOf(management).edits;
  return (
    compaction != null ||
    (Array.isArray(edits) && edits.some((edit) => String(fieldsOf(edit).type).startsWith('compact'))) ||
    (Array.isArray(input) && input.some((item) => fieldsOf(item).type === 'compaction_trigger'))
  );
}
