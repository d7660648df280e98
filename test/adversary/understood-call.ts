/** A request as a provider of some personality understands it: the tokens, tool calls and rates that it will bill. */

import type { Node } from './json-tree.ts';
import { type Fields, isList, isObject, type Personality, type Plain, plainOf } from './personalities.ts';
import { modelNamed, type PricedModel, tierFactors, unitNanos } from './price-table.ts';
import { type AdversaryShape, hasModelInPath, isConverse, isEmbeddings, isGemini } from './shapes.ts';
import { sizeOfPng, tokensOf, tokensOfGeminiTiles, tokensOfPixels, tokensOfTiles } from './token-counts.ts';

export interface UnderstoodCall {
  readonly model: PricedModel;
  readonly isStream: boolean;
  /** True if a stream of a chat ends with its usage. */
  readonly includesUsage: boolean;
  readonly choices: number;
  readonly inputTokens: number;
  /** Of each choice. */
  readonly outputTokens: number;
  /** Predicted text that the answer does not contain. It is billed as output. */
  readonly rejectedTokens: number;
  /** Calls of the tool that the provider has run. */
  readonly tool: ToolCalls | undefined;
  /** True if the request offers tools of the provider in a chat, whose answer does not show that none was called. */
  readonly mayHideTools: boolean;
  readonly tier: string | undefined;
  readonly isCachedForAnHour: boolean;
  /** True if half of the output is reasoning that is not shown. */
  readonly hidesReasoning: boolean;
  /** True if the answer is generated after the response. */
  readonly isBackground: boolean;
}

export interface ToolCalls {
  /** The name under which its calls have a price. */
  readonly unit: string;
  readonly calls: number;
}

/** Why the provider does not serve a call. */
export class RejectedCall extends Error {}

const tokensPerObject = 4;
const tokensPerCall = 3;
/** Calls of a tool without a maximum: Anthropic ends its loop after ten. */
const usualToolCalls = 10;
const toolCallsMax = 20;

const promptFields = [
  ...[
    'messages',
    'input',
    'system',
    'instructions',
    'prompt',
    'tools',
    'functions',
    'response_format',
    'text',
  ],
  ...['documents', 'contents', 'system_instruction', 'content', 'requests', 'instances', 'tool_config'],
];
/** Values that are written into the prompt as JSON. */
const jsonFields = new Set([
  ...['parameters', 'input_schema', 'schema', 'arguments'],
  ...['parameters_json_schema', 'args', 'response', 'response_schema', 'response_json_schema'],
]);
/** Values in which nothing is looked for, besides text. */
const opaqueFields = new Set([
  ...jsonFields,
  'metadata',
  'chat_template_kwargs',
  'guided_json',
  'logit_bias',
]);
const toolCalls = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);
/** Texts that are no part of the prompt: ids and words of the format, which are short. */
const formatFields = new Set(['type', 'role', 'id', 'detail', 'media_type', 'mime_type', 'model']);
const formatTextMax = 64;
/** Settings of a call, which are no part of its prompt as long as they are as short as the documentation demands. */
const settingFields = new Set([
  ...[
    'model',
    'user',
    'safety_identifier',
    'prompt_cache_key',
    'service_tier',
    'speed',
    'metadata',
    'include',
  ],
  ...['reasoning_effort', 'verbosity', 'truncation', 'inference_geo', 'stream_options', 'store', 'stop'],
]);
const settingLengthMax = 600;

/** Tools that providers run: what they find becomes input. */
const serverTool =
  /^(web_search|web_fetch|code_execution|code_interpreter|file_search|mcp|tool_search|image_generation)/;
const otherServerTool = /^(browser_search|x_search|live_search|openrouter:|url_context|google_search)/;
const searchTool = /^(web_search|browser_search|x_search|live_search|openrouter:web|google_search)/;
const referringTypes = new Set([
  ...['document', 'file', 'input_file', 'item_reference', 'container_upload', 'web_search_tool_result'],
  ...['input_audio', 'video_url', 'input_video', 'search_result', 'audio_url'],
]);
const referringFields = [
  ...[
    'previous_response_id',
    'conversation',
    'file_id',
    'file_url',
    'file_data',
    'container',
    'vector_store_ids',
  ],
  ...['mcp_servers', 'server_url', 'connector_id', 'input_audio', 's3_location'],
];
/** Tools of Gemini, with the unit that has a price. Results of the others cost tokens alone. */
const geminiUnits: Readonly<Record<string, string>> = {
  google_search: 'web_search',
  google_search_retrieval: 'web_search',
  google_maps: 'maps_query',
  url_context: 'url_context',
  code_execution: 'code_execution',
  file_search: 'tokens',
};
/** Fields of Azure, OpenRouter, xAI, Alibaba, Gemini and others that add input. */
const extensionFields = [
  ...[
    'web_search_options',
    'plugins',
    'data_sources',
    'search_parameters',
    'enable_search',
    'cached_content',
  ],
];
/** Names of the number of answers in formats of other providers. */
const otherChoices = ['best_of', 'candidate_count', 'num_return_sequences', 'num_generations'];
/** Objects with settings in the formats of Ollama, Hugging Face and Gemini. */
const optionFields = ['options', 'parameters', 'generation_config', 'extra_body'];
const searchExtensions = ['web_search_options', 'plugins', 'search_parameters', 'enable_search'];

/** The path of a request to Gemini. */
export interface CalledPath {
  readonly model: string;
  readonly isStream: boolean;
}

/** `betas` are features that headers turn on. */
export function understand(
  shape: AdversaryShape,
  tree: Node,
  personality: Personality,
  betas: string,
  path: CalledPath | undefined,
): UnderstoodCall {
  const body = plainOf(tree, personality, shape);
  if (!isObject(body)) {
    throw new RejectedCall('the body is not an object');
  }
  return new Reader(shape, body, personality, betas, path).call();
}

/** Anthropic's header for a context of a million tokens, as a factor of the usual context. */
const largeContext = { beta: 'context-1m', factor: 5 };

class Reader {
  readonly #shape: AdversaryShape;
  readonly #body: Fields;
  readonly #contextFactor: number;
  readonly #personality: Personality;
  readonly #path: CalledPath | undefined;

  constructor(
    shape: AdversaryShape,
    body: Fields,
    personality: Personality,
    betas: string,
    path: CalledPath | undefined,
  ) {
    this.#path = path;
    this.#shape = shape;
    this.#contextFactor = shape === 'messages' && betas.includes(largeContext.beta) ? largeContext.factor : 1;
    this.#body = body;
    this.#personality = personality;
  }

  call(): UnderstoodCall {
    const shape = this.#shape;
    const body = this.#body;
    this.#rejectUnknownChoices();
    const model = this.#model();
    const references = this.#refersTo(body as Plain);
    const tool = this.#toolCalls();
    const counted = this.#promptTokens(model);
    const contextTokens = model.contextTokens * this.#contextFactor;
    // The model reads the results of a tool together with the whole input before them.
    const inputTokens =
      tool !== undefined ? contextTokens * (tool.calls + 1) : references ? contextTokens : counted;
    if (counted > contextTokens) {
      throw new RejectedCall('the prompt is longer than the context');
    }
    const isStream = this.#path?.isStream ?? (shape !== 'embeddings' && this.#flag(body.stream));
    return {
      model,
      isStream,
      includesUsage: shape !== 'chat' || this.#flag(this.#fields(body.stream_options).include_usage),
      choices: shape === 'chat' || shape === 'gemini' ? this.#choices() : 1,
      inputTokens,
      outputTokens: isEmbeddings(shape) ? 0 : this.#maximum(model),
      rejectedTokens: shape === 'chat' ? this.#textTokens(model, body.prediction) : 0,
      tool,
      mayHideTools: shape === 'chat' && this.#offersTools(),
      tier: this.#tier(),
      isCachedForAnHour: (shape === 'messages' || isConverse(shape)) && this.#hasOneHour(body as Plain),
      hidesReasoning: !isEmbeddings(shape) && this.#requestsReasoning(),
      isBackground: shape === 'responses' && this.#flag(body.background),
    };
  }

  #model(): PricedModel {
    const { models: alternatives } = this.#body;
    const given = this.#path === undefined ? this.#body.model : this.#modelAtGemini(this.#path.model);
    const routed =
      this.#personality.hasExtensions && isList(alternatives)
        ? alternatives.map(modelNamed).findLast((one) => one !== undefined)
        : undefined;
    const model = routed ?? modelNamed(given);
    if (model === undefined) {
      throw new RejectedCall('there is no such model');
    }
    return model;
  }

  /** A lenient provider serves the model that the body names last. */
  #modelAtGemini(model: string): string {
    const { requests } = this.#body;
    const inner = isList(requests) ? requests.map((one) => this.#fields(one).model) : [];
    const { routing_config: routing } = this.#fields(this.#body.generation_config);
    const chosen = this.#fields(this.#fields(routing).manual_mode).model_name;
    const named = [this.#body.model, ...inner, chosen].findLast((one) => typeof one === 'string');
    return this.#personality.hasExtensions && typeof named === 'string'
      ? named.replace(/^(publishers\/google\/)?models\//, '')
      : model;
  }

  #fields(value: Plain | undefined): Fields {
    return isObject(value) ? value : {};
  }

  #flag(value: Plain | undefined): boolean {
    return (
      value === true || (this.#personality.coerces && (value === 1 || value === 'true' || value === '1'))
    );
  }

  #count(value: Plain | undefined): number | undefined {
    if (typeof value === 'number') {
      return value;
    }
    const text = this.#personality.coerces && isList(value) ? value[0] : value;
    return this.#personality.coerces && (typeof text === 'string' || typeof text === 'boolean') && text !== ''
      ? Number(text)
      : undefined;
  }

  #maximum(model: PricedModel): number {
    const isAtTop = !hasModelInPath(this.#shape) || this.#personality.hasExtensions;
    for (const fields of [...this.#optionObjects(), ...(isAtTop ? [this.#body] : [])]) {
      for (const name of this.#personality.maxNames(this.#shape)) {
        const given = this.#count(fields[name]);
        if (given !== undefined && given >= 0) {
          return Math.min(Math.ceil(given), model.maxOutputTokens);
        }
      }
    }
    return model.maxOutputTokens;
  }

  /** Objects in which Gemini and other providers have their settings. */
  #optionObjects(): Fields[] {
    const documented = isGemini(this.#shape)
      ? ['generation_config']
      : isConverse(this.#shape)
        ? ['additional_model_request_fields', 'inference_config']
        : [];
    return [...documented, ...(this.#personality.hasExtensions ? optionFields : [])].map((name) =>
      this.#fields(this.#body[name]),
    );
  }

  /** Google rejects names that it does not know. Only those that count answers matter here: the gateway believes each of them. */
  #rejectUnknownChoices(): void {
    const config = this.#fields(
      isConverse(this.#shape) ? this.#body.inference_config : this.#body.generation_config,
    );
    const isUnknown =
      ['n', ...otherChoices].some((name) => this.#body[name] != null) ||
      ['n', ...otherChoices].some((name) => name !== 'candidate_count' && config[name] != null);
    if (hasModelInPath(this.#shape) && !this.#personality.hasExtensions && isUnknown) {
      throw new RejectedCall('a name is not known');
    }
  }

  #choices(): number {
    const others = this.#personality.hasExtensions
      ? [this.#body, ...this.#optionObjects()].flatMap((fields) => otherChoices.map((name) => fields[name]))
      : [];
    const { hasExtensions } = this.#personality;
    const config = isGemini(this.#shape) ? this.#fields(this.#body.generation_config) : {};
    const usual = isGemini(this.#shape) && !hasExtensions ? [] : [this.#body.n, config.n];
    return Math.max(
      1,
      ...[config.candidate_count, ...usual, ...others].map((value) => Math.ceil(this.#count(value) ?? 1)),
    );
  }

  #tier(): string | undefined {
    const { speed, service_tier: given } = this.#body;
    const tier = isConverse(this.#shape) ? this.#fields(given).type : given;
    const wanted = this.#shape === 'messages' && speed === 'fast' ? speed : tier;
    return typeof wanted === 'string' && wanted in tierFactors ? wanted : undefined;
  }

  #requestsReasoning(): boolean {
    const { thinking, reasoning, reasoning_effort: effort } = this.#body;
    const { thinking: inner, reasoning_config: config } = this.#fields(
      this.#body.additional_model_request_fields,
    );
    return (
      (isConverse(this.#shape) && (isObject(inner) || isObject(config))) ||
      (isGemini(this.#shape) && isObject(this.#fields(this.#body.generation_config).thinking_config)) ||
      (isObject(thinking) && thinking.type !== 'disabled') ||
      (isObject(reasoning) && reasoning.effort !== 'none') ||
      (typeof effort === 'string' && effort !== 'none')
    );
  }

  /** The tools that the provider runs. */
  #serverTools(): Fields[] {
    const given = isConverse(this.#shape) ? this.#fields(this.#body.tool_config) : this.#body;
    const tools = isEmbeddings(this.#shape) ? undefined : given.tools;
    const { coerces, hasExtensions } = this.#personality;
    const listed = isList(tools) ? tools : coerces && isObject(tools) ? [tools] : [];
    return listed.filter(
      (tool): tool is { readonly [name: string]: Plain } =>
        isObject(tool) &&
        typeof tool.type === 'string' &&
        (serverTool.test(tool.type) || (hasExtensions && otherServerTool.test(tool.type))),
    );
  }

  /** True if some provider understands a tool that it runs, also if this one does not. */
  #offersTools(): boolean {
    const { tools } = this.#body;
    const isFunction = (tool: Plain) =>
      isObject(tool) && (tool.type === 'function' || tool.type === 'custom');
    return (
      (tools != null && !(isList(tools) && tools.every(isFunction))) ||
      isObject(this.#body.tool_choice) ||
      [...searchExtensions, 'mcp_servers', 'container'].some((name) => this.#body[name] != null)
    );
  }

  /** The provider calls the first of its tools as often as it may. */
  #toolCalls(): ToolCalls | undefined {
    const unit = this.#shape === 'gemini' ? this.#geminiTool() : undefined;
    if (unit !== undefined) {
      return { unit, calls: unit === 'maps_query' ? 1 : usualToolCalls };
    }
    const [tool] = this.#serverTools();
    if (tool !== undefined) {
      const type = String(tool.type);
      const usesMax = this.#shape === 'responses' ? undefined : this.#count(tool.max_uses);
      const callsMax = this.#shape === 'responses' ? this.#count(this.#body.max_tool_calls) : undefined;
      const calls = Math.min(usesMax ?? callsMax ?? usualToolCalls, toolCallsMax);
      return { unit: searchTool.test(type) ? 'web_search' : type.replace(/_\d{8}$/, ''), calls };
    }
    return searchExtensions.some((name) => this.#uses(name)) ? { unit: 'web_search', calls: 1 } : undefined;
  }

  /** The unit of the first tool that Gemini runs. Its tools are named by their members. */
  #geminiTool(): string | undefined {
    const { tools } = this.#body;
    const listed = isList(tools) ? tools : this.#personality.coerces && isObject(tools) ? [tools] : [];
    return listed
      .flatMap((tool) => Object.entries(this.#fields(tool)))
      .filter(([, value]) => value !== null)
      .map(([name]) => geminiUnits[name])
      .find((unit) => unit !== undefined);
  }

  /** True if the provider understands this field of other providers, and the body has it. */
  #uses(name: string): boolean {
    const value = isEmbeddings(this.#shape) ? null : this.#body[name];
    const isOff = value == null || value === false || (isList(value) && value.length === 0);
    return this.#personality.hasExtensions && !isOff;
  }

  #refersTo(value: Plain): boolean {
    if (isList(value)) {
      return value.some((item) => this.#refersTo(item));
    }
    if (!isObject(value)) {
      return false;
    }
    const { type } = value;
    return (
      (value !== this.#body &&
        typeof type === 'string' &&
        referringTypes.has(type) &&
        !this.#isInline(value)) ||
      referringFields.some((name) => value[name] != null && value[name] !== '') ||
      (value === this.#body &&
        (isObject(value.prompt) ||
          (this.#shape === 'gemini' && typeof value.cached_content === 'string') ||
          extensionFields.some((name) => this.#uses(name)))) ||
      Object.entries(value).some(([name, inner]) => !opaqueFields.has(name) && this.#refersTo(inner))
    );
  }

  /** True for a document or a search result whose text is in the request: it is read as it is. */
  #isInline({ type, source, content }: { readonly [name: string]: Plain }): boolean {
    const given = this.#fields(source);
    return (
      (type === 'document' && (given.type === 'text' || given.type === 'content')) ||
      (type === 'search_result' && isList(content))
    );
  }

  #hasOneHour(value: Plain): boolean {
    if (isList(value)) {
      return value.some((item) => this.#hasOneHour(item));
    }
    return (
      isObject(value) &&
      (this.#fields(isConverse(this.#shape) ? value.cache_point : value.cache_control).ttl === '1h' ||
        Object.values(value).some((inner) => this.#hasOneHour(inner)))
    );
  }

  #promptTokens(model: PricedModel): number {
    const { prompt } = this.#personality;
    if (prompt === 'names and values') {
      return this.#tokensOfAll(model, this.#body as Plain);
    }
    const names = Object.keys(this.#body).filter((name) =>
      prompt === 'strings' ? !this.#isShortSetting(name) : promptFields.includes(name),
    );
    const { response_schema: schema, response_json_schema: json = schema } = this.#fields(
      this.#body.generation_config,
    );
    const isSchemaRead = prompt === 'documented' && this.#shape === 'gemini' && json !== undefined;
    const schemaTokens = isSchemaRead ? tokensOf(model.tokenizer, JSON.stringify(json)) : 0;
    return names.reduce(
      (sum, name) => sum + this.#textTokens(model, this.#body[name], name),
      isEmbeddings(this.#shape) ? 0 : tokensPerCall + schemaTokens,
    );
  }

  /** Every name, text and number, as a template writes them that knows nothing of the format. */
  #tokensOfAll(model: PricedModel, value: Plain): number {
    // The input of embeddings may be a list of tokens, which no provider writes as text.
    if (this.#shape === 'embeddings' && typeof value === 'number') {
      return 1;
    }
    if (isList(value)) {
      return value.reduce<number>((sum, item) => sum + this.#tokensOfAll(model, item), 0);
    }
    if (isObject(value)) {
      return Object.entries(value).reduce(
        (sum, [name, inner]) =>
          sum + tokensOf(model.tokenizer, name) + (isData(name, inner) ? 0 : this.#tokensOfAll(model, inner)),
        0,
      );
    }
    return tokensOf(model.tokenizer, String(value));
  }

  #isShortSetting(name: string): boolean {
    return settingFields.has(name) && JSON.stringify(this.#body[name] ?? null).length <= settingLengthMax;
  }

  #textTokens(model: PricedModel, value: Plain | undefined, name = ''): number {
    if (typeof value === 'string') {
      const isWord = formatFields.has(name) && value.length <= formatTextMax;
      return isWord ? 0 : tokensOf(model.tokenizer, value);
    }
    if (typeof value === 'number') {
      // The input of embeddings may be a list of tokens.
      return this.#shape === 'embeddings' ? 1 : 0;
    }
    if (isList(value)) {
      return value.reduce<number>((sum, item) => sum + this.#textTokens(model, item), 0);
    }
    return isObject(value) ? this.#objectTokens(model, value) : 0;
  }

  #objectTokens(model: PricedModel, object: { readonly [name: string]: Plain }): number {
    let tokens = tokensPerObject + this.#imageTokens(model, object);
    const isToolCall = typeof object.type === 'string' && toolCalls.has(object.type);
    for (const [name, value] of Object.entries(object)) {
      if (jsonFields.has(name) || (isToolCall && name === 'input')) {
        tokens += tokensOf(model.tokenizer, typeof value === 'string' ? value : JSON.stringify(value));
      } else if (!isData(name, value)) {
        tokens += this.#textTokens(model, value, name);
      }
    }
    return tokens;
  }

  /** An image is found by its content, whatever the type of its part says. */
  #imageTokens({ provider, tokenizer }: PricedModel, object: { readonly [name: string]: Plain }): number {
    const nested = this.#fields(object.image_url);
    const source = this.#fields(object.source);
    const inline = this.#fields(object.inline_data);
    if (provider === 'google' && typeof inline.data === 'string') {
      const bytes = Buffer.from(inline.data, 'base64');
      const size = sizeOfPng(bytes);
      if (size !== undefined) {
        return tokensOfGeminiTiles(size);
      }
      if (String(inline.mime_type).startsWith('text/')) {
        return tokensOf(tokenizer, bytes.toString());
      }
      throw new RejectedCall('the media cannot be read');
    }
    const url = [object.image_url, nested.url, source.url].find((one) => typeof one === 'string');
    const bytes = isConverse(this.#shape) && typeof source.bytes === 'string' ? source.bytes : undefined;
    const data = typeof source.data === 'string' && source.type !== 'text' ? source.data : bytes;
    if (url === undefined && data === undefined) {
      return 0;
    }
    const base64 = data ?? (typeof url === 'string' ? /^data:[^,]*,(.*)$/is.exec(url)?.[1] : undefined);
    const size = base64 === undefined ? undefined : sizeOfPng(Buffer.from(base64, 'base64'));
    const details = [object.detail, nested.detail].filter((one) => one != null);
    const isLow = details.length > 0 && details.every((one) => one === 'low');
    return provider === 'anthropic' || provider === 'bedrock'
      ? tokensOfPixels(size)
      : tokensOfTiles(size, isLow);
  }
}

/** Bytes of images, files and audio are counted by their kind, and not as text. */
function isData(name: string, value: Plain): boolean {
  return (
    typeof value === 'string' &&
    (name === 'data' ||
      name === 'bytes' ||
      name === 'file_data' ||
      ((name === 'image_url' || name === 'url') && isUrl(value)))
  );
}

function isUrl(text: string): boolean {
  return /^(data|https?):/i.test(text);
}

export function outputTokensOf({ choices, outputTokens, rejectedTokens }: UnderstoodCall): number {
  return choices * outputTokens + rejectedTokens;
}

/** Returns the bill of a call in nanodollars, with all of its output or what was generated until it broke off. */
export function billOf(call: UnderstoodCall, outputTokens = outputTokensOf(call)): bigint {
  const { model, inputTokens, tool, tier, isCachedForAnHour } = call;
  const inputRate = isCachedForAnHour && tier === undefined ? model.cacheWrite1h : model.input;
  const tokens = BigInt(inputTokens) * inputRate + BigInt(outputTokens) * model.output;
  return tokens * (tier === undefined ? 1n : (tierFactors[tier] ?? 1n)) + costOfCalls(tool);
}

function costOfCalls(tool: ToolCalls | undefined): bigint {
  return tool === undefined ? 0n : BigInt(tool.calls) * (unitNanos[tool.unit] ?? 0n);
}
