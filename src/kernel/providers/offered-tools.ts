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
  /** The unit of its calls in responses. */
  readonly unit: string;
  /** The units that may price its calls. The first one with a price applies. */
  readonly pricedBy: readonly string[];
  /** True if any of these units may apply, so that the most expensive one is charged. */
  readonly isAnyUnit: boolean;
  /** The most calls that the request allows; undefined if it sets no maximum. */
  readonly callsMax: number | undefined;
  /** True if OpenAI and Anthropic charge only for the tokens of the tool. */
  readonly isTokensOnly: boolean;
  /** The model that the tool uses, if its tokens are charged: of an advisor, or of generated images. */
  readonly model: string | undefined;
  /** Maximum output of this model for a call of the tool. */
  readonly modelOutputTokens: number;
  /** True if the container has more memory than usual, which costs up to 64 times as much. */
  readonly isLarge: boolean;
  /** True if the tool may be in stored content that the request names. */
  readonly isStored: boolean;
  /** True if the provider charges for a container, or for the retrieval that it always makes, even if the model never calls the tool. */
  readonly isChargedUncalled: boolean;
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
  // Anthropic charges what is run in the container.
  container: 'code_execution',
  web_search: 'web_search',
  enable_search: 'web_search',
};

export function offeredTools({ tools }: CallFormat, body: Fields): readonly OfferedTool[] {
  if (!tools.areOffered) {
    return noTools;
  }
  const found: OfferedTool[] = [];
  for (const offered of toolLists(body)) {
    addTools(found, tools, offered, body);
  }
  if (typeof body.tool_choice === 'object' && body.tool_choice !== null) {
    addChoice(found, tools, fieldsOf(body.tool_choice));
  }
  for (const name in toolFields) {
    const unit = toolFields[name] as string;
    const isOffered = name === 'container' && found.some((tool) => tool.unit === unit);
    if (body[name] != null && body[name] !== false && !isOffered) {
      found.push(toolOf(name, unit, name === 'container' ? {} : fieldsOf(body[name]), body));
    }
  }
  for (const plugin of pluginsOf(body)) {
    const { id } = fieldsOf(plugin);
    found.push(
      toolOf(
        `plugins: ${typeof id === 'string' ? id : '?'}`,
        id === 'web' ? 'web_search' : 'plugin',
        {},
        body,
      ),
    );
  }
  if (tools.hasStoredPrompts && typeof body.prompt === 'object' && body.prompt !== null) {
    found.push(toolOf('prompt', 'prompt', {}, body));
  }
  addStored(found, tools, body);
  return found.length === 0 ? noTools : found;
}

/** Adds the tools that may be in stored content, unless the request offers them too. */
function addStored(found: OfferedTool[], { stored }: ToolFormat, body: Fields): void {
  const objects = [body, ...extraObjects(body)];
  if (stored?.names.some((name) => objects.some((fields) => fields[name] != null)) === true) {
    const offered = new Set(found.map(({ type }) => type));
    for (const type of stored.types) {
      if (!offered.has(type)) {
        found.push({ ...toolOf(type, unitOf(type), {}, body), isStored: true, isChargedUncalled: false });
      }
    }
  }
}

const dateOfFreeExecution = '20260209';

/** Returns the unit that is free beside a tool. Anthropic charges no code executions of requests with these web tools. */
export function freeWith({ type }: OfferedTool): readonly string[] {
  const date = /^web_(?:search|fetch)_(\d{8})$/.exec(type)?.[1];
  return date !== undefined && date >= dateOfFreeExecution ? ['code_execution'] : [];
}

/** Returns the plugins. A provider may read a value that is not a list as one plugin. */
function pluginsOf({ plugins }: Fields): readonly unknown[] {
  if (plugins == null || plugins === false) {
    return [];
  }
  return Array.isArray(plugins) ? plugins : [plugins];
}

/** Returns the objects in which clients of chats send members of Gemini's own API. */
function extraObjects({ extra_body: extraBody, google }: Fields): readonly Fields[] {
  const extra = fieldsOf(extraBody);
  return [extra, ...Object.values(extra).map(fieldsOf), fieldsOf(google)];
}

/** Returns the lists of tools in a request. */
export function toolLists(body: Fields): readonly unknown[] {
  const inner = [body.toolConfig, body.additionalModelRequestFields].map(fieldsOf);
  const others = [...extraObjects(body), ...inner].map(({ tools }) => tools);
  const inContent = inlineTools(body);
  return [body.tools, inContent.length === 0 ? null : inContent, ...others].filter((tools) => tools != null);
}

function addTools(found: OfferedTool[], format: ToolFormat, tools: unknown, body: Fields): void {
  if (!Array.isArray(tools)) {
    found.push(toolOf('tools', 'tool', {}, body));
    return;
  }
  for (const tool of tools) {
    const fields = fieldsOf(tool);
    if (!format.isRunByClient(fields)) {
      for (const type of format.typesOf(fields)) {
        const tool = toolOf(typeof type === 'string' ? type : '?', unitOf(type), fields, body);
        found.push(format.chargedByTokens.includes(tool.type) ? { ...tool, isTokensOnly: true } : tool);
      }
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
    found.push(toolOf(`tool_choice: ${String(choice.type)}`, unit, {}, {}));
  }
}

function toolOf(type: string, named: string, tool: Fields, body: Fields): OfferedTool {
  const unit = otherSearches.has(type) ? 'web_search' : named;
  const container = containerOf(unit, tool, body);
  return {
    type: type.slice(0, 100),
    unit,
    ...(container ?? ownSearchUnits(type) ?? searchUnitsOf(type, unit, tool)),
    callsMax: usesOf(tool.max_uses),
    isTokensOnly: tokensOnly.test(type),
    model: modelOf(unit, tool),
    modelOutputTokens: unit === 'advisor' ? advisorOutputTokens : imageOutputTokens(tool),
    isLarge: memoryOf(tool) !== usualMemory,
    isStored: false,
    isChargedUncalled:
      container?.isNew === true || unit === 'retrieval' || (unit === 'code_execution' && preloadsFiles(body)),
  };
}

type ToolUnits = Pick<OfferedTool, 'pricedBy' | 'isAnyUnit'>;

const searchSizes = ['low', 'medium', 'high'];

/** Returns the units of a search. Its context size may have a price of its own. */
function searchUnits(unit: string, { search_context_size: size }: Fields): ToolUnits {
  if (size == null || unit !== 'web_search') {
    return { pricedBy: [unit], isAnyUnit: false };
  }
  return typeof size === 'string' && searchSizes.includes(size)
    ? { pricedBy: [`${unit}:${size}`, unit], isAnyUnit: false }
    : { pricedBy: [unit, ...searchSizes.map((one) => `${unit}:${one}`)], isAnyUnit: true };
}

/** Searches of Vertex AI with prices of their own. Responses show them as searches of the web. */
const otherSearches = new Set(['enterprise_web_search', 'parallel_ai_search', 'exa_ai_search']);

function ownSearchUnits(type: string): ToolUnits | undefined {
  return otherSearches.has(type) ? { pricedBy: [type], isAnyUnit: false } : undefined;
}

function searchUnitsOf(type: string, unit: string, tool: Fields): ToolUnits {
  return isPreviewSearch.test(type) ? previewUnits(tool) : searchUnits(unit, tool);
}

/** The earlier search of OpenAI, which has a price of its own. */
const isPreviewSearch = /\bweb_search_preview/;

function previewUnits(tool: Fields): ToolUnits {
  const { pricedBy, isAnyUnit } = searchUnits('web_search', tool);
  return { pricedBy: ['web_search:preview', ...pricedBy], isAnyUnit };
}

const usualMemory = '1g';
const largeMemories = ['4g', '16g', '64g'];

/** Returns the memory that a tool requests for its container. */
function memoryOf(tool: Fields): unknown {
  const stated = [tool, tool.container, tool.environment].map((one) => fieldsOf(one).memory_limit);
  return stated.find((memory) => memory != null && memory !== usualMemory) ?? usualMemory;
}

/**
 * Returns the units of a tool that runs in a container of OpenAI, which is charged by its memory. A container that the request
 * names may have any. A request that continues a conversation may use the container of an earlier call.
 */
function containerOf(
  unit: string,
  tool: Fields,
  body: Fields,
): (ToolUnits & { readonly isNew: boolean }) | undefined {
  const { container, environment } = tool;
  const { type } = unit === 'shell' ? fieldsOf(environment) : fieldsOf(container);
  if ((unit !== 'code_interpreter' && unit !== 'shell') || (container ?? environment) == null) {
    return undefined;
  }
  if (type !== 'auto' && type !== 'container_auto') {
    return { pricedBy: [`${unit}:existing`], isAnyUnit: false, isNew: false };
  }
  const memory = memoryOf(tool);
  if (memory !== usualMemory) {
    return { pricedBy: [`${unit}:${String(memory)}`], isAnyUnit: false, isNew: true };
  }
  return continues(body)
    ? { pricedBy: [unit, ...largeMemories.map((one) => `${unit}:${one}`)], isAnyUnit: true, isNew: true }
    : { pricedBy: [unit], isAnyUnit: false, isNew: true };
}

function continues({ previous_response_id: previous, conversation, input }: Fields): boolean {
  return (
    previous != null ||
    conversation != null ||
    (Array.isArray(input) && input.some((item) => earlierItem.test(String(fieldsOf(item).type))))
  );
}

/** Items of the input that may belong to an earlier call with a container. */
const earlierItem = /^(item_reference|code_interpreter_call|shell_call)$/;

/** Returns true if the request has files for a container. Anthropic charges the container even if nothing is run in it. */
function preloadsFiles({ messages }: Fields): boolean {
  const blocks = (Array.isArray(messages) ? messages : []).flatMap((message) => fieldsOf(message).content);
  return blocks.some((block) => fieldsOf(block).type === 'container_upload');
}

/** The image model of OpenAI with the highest rates, for requests and responses that do not name theirs. */
export const defaultImageModel = 'gpt-image-1';
/** Maximum output of an advisor, if its tool does not set one. */
const advisorOutputTokens = 16_384;

function modelOf(unit: string, { model }: Fields): string | undefined {
  return (unit === 'advisor' || unit === 'image_generation') && typeof model === 'string' ? model : undefined;
}

const usualSizes = new Set<unknown>(['auto', '1024x1024', '1024x1536', '1536x1024']);

/**
 * Returns the maximum output of an image model for an image with three partial images of 100 tokens each. By OpenAI's calculator, an
 * image of a usual size has up to 7,024 tokens, and one of the largest size 659, 5,930 or 23,719 by its quality.
 */
function imageOutputTokens({ quality, size = 'auto' }: Fields): number {
  const most = quality === 'low' ? 1_000 : quality === 'medium' ? 6_300 : 24_100;
  return usualSizes.has(size) ? Math.min(most, 7_400) : most;
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
