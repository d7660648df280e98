/**
 * Estimates the input tokens of a request as an upper bound, without a tokenizer: text by the score of its reader, images by the
 * published formulas, and what the request only refers to by the size of the model's context or the org's setting.
 */
import { type Fields, fieldsOf } from './fields.ts';
import { type ImageSize, imageTokens } from './image-tokens.ts';
import { familyOf } from './model-family.ts';

export interface TextScore {
  /** Bytes of the text in UTF-8. No tokenizer makes more tokens than bytes. */
  readonly bytes: number;
  /** The tokens that the text may have, for a ratio of one. */
  readonly score: number;
  /** The fewest tokens to expect of a tokenizer that is not known, whatever the ratio. */
  readonly floor: number;
}

/** Reads the parts of a request that only some runtimes can read well. */
export interface InputReaders {
  scoreOfText(text: string): TextScore;
  /** Names of fields are few, so that their scores can be kept. */
  scoreOfName(name: string): TextScore;
  /** Returns the size of an image in base64; undefined if it is not known. */
  sizeOfImage(base64: string): ImageSize | undefined;
}

export interface InputParts {
  readonly textBytes: number;
  readonly textScore: number;
  /** 0 if the score is that of the model's own tokenizer. */
  readonly textFloor: number;
  /** Script and density of the text: ratios are learned for each class, because tokenizers differ in them. */
  readonly textClass: string;
  readonly imageTokens: number;
  /** Messages, content parts and tools: each adds a few tokens that separate it from the next. */
  readonly parts: number;
  /** Tokens that the provider adds to a request with tools. */
  readonly toolFrameTokens: number;
  /** True if the request refers to content that is not in it: an earlier response, a file, a document or a URL. */
  readonly hasUnseen: boolean;
}

/** Tokens that formats add: around each message, part and tool, and once for all. */
const tokensPerPart = 12;
const tokensOfFrame = 32;
/** Anthropic's system prompt for tools alone has about 350 tokens; 700 with tools that the provider runs. */
const tokensOfToolFrame = 800;
const tokensOfOpenAiToolFrame = 64;

/** Names of fields whose text is data and not read as text: images and files in base64, and signatures of reasoning. */
const dataFields = new Set(['data', 'file_data', 'b64_json', 'encrypted_content']);
/** Fields that are not a part of the prompt. */
const settingFields = new Set([
  'model',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'service_tier',
  'speed',
  'inference_geo',
  'stream_options',
  'include',
  'store',
  'metadata',
  'reasoning_effort',
  'verbosity',
  'truncation',
]);
const unseenFields = new Set([
  'previous_response_id',
  'conversation',
  'file_id',
  'file_url',
  'container',
  'vector_store_ids',
  'mcp_servers',
  'server_url',
]);
/** Types of parts whose content the provider fetches or expands. */
const unseenTypes = new Set([
  'document',
  'file',
  'input_file',
  'item_reference',
  'container_upload',
  'web_search_tool_result',
  'prompt',
]);

/** Fields whose value is read as JSON, whatever its names are: schemas of tools and answers, and arguments of tools. */
const jsonFields = new Set(['input_schema', 'parameters', 'schema', 'arguments']);
/** Parts whose field `input` has the arguments of a tool. */
const toolCallTypes = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'custom_tool_call']);

/** Tools that the provider runs: their results become input of the same call. */
const serverToolTypes =
  /^(web_search|web_fetch|code_execution|code_interpreter|file_search|mcp|tool_search|image_generation)/;

class Collector {
  textBytes = 0;
  textScore = 0;
  textFloor = 0;
  textLength = 0;
  imageTokens = 0;
  parts = 0;
  hasUnseen = false;
  readonly #model: string;
  readonly #readers: InputReaders;

  constructor(model: string, readers: InputReaders) {
    this.#model = model;
    this.#readers = readers;
  }

  add(value: unknown, name: string): void {
    if (typeof value === 'string') {
      this.#addText(value, name);
    } else if (typeof value === 'number') {
      // In a list of token ids, the input of embeddings, each is a token.
      this.#addTokens(1);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        this.add(item, '');
      }
    } else if (typeof value === 'object' && value !== null) {
      this.#addObject(value as Fields);
    } else {
      this.#addTokens(1);
    }
  }

  #addTokens(tokens: number): void {
    this.textBytes += tokens;
    this.textScore += tokens;
    this.textFloor += tokens;
    this.textLength += tokens;
  }

  #addText(text: string, name: string): void {
    const { bytes, score, floor } = this.#readers.scoreOfText(text);
    const ofName = this.#readers.scoreOfName(name);
    this.textBytes += bytes + ofName.bytes + 2;
    this.textScore += score + ofName.score + 1;
    this.textFloor += floor + ofName.floor + 1;
    this.textLength += text.length + name.length + 2;
  }

  #addObject(object: Fields): void {
    this.parts += 1;
    if (this.#addImage(object)) {
      return;
    }
    const { type } = object;
    if (typeof type === 'string' && (unseenTypes.has(type) || serverToolTypes.test(type))) {
      this.hasUnseen = true;
    }
    const isToolCall = typeof type === 'string' && toolCallTypes.has(type);
    for (const [name, value] of Object.entries(object)) {
      if (jsonFields.has(name) || (isToolCall && name === 'input')) {
        // Names have no meaning for the provider in it: all of it is text.
        this.#addText(typeof value === 'string' ? value : JSON.stringify(value), name);
      } else if (unseenFields.has(name) && value != null) {
        this.hasUnseen = true;
      } else if (!(dataFields.has(name) && typeof value === 'string')) {
        this.add(value, name);
      } else {
        // Audio and files: their tokens follow from their content, which is not read here.
        this.hasUnseen = true;
      }
    }
  }

  /** Counts an image of any format: OpenAI's chat and responses, Anthropic's messages. */
  #addImage(object: Fields): boolean {
    if (object.type === 'image_url' || object.type === 'input_image') {
      const nested = fieldsOf(object.image_url);
      const url = typeof object.image_url === 'string' ? object.image_url : nested.url;
      this.#countImage(typeof url === 'string' ? url : undefined, object.detail ?? nested.detail);
      return true;
    }
    if (object.type === 'image') {
      const source = fieldsOf(object.source);
      const data = typeof source.data === 'string' ? `data:;base64,${source.data}` : undefined;
      this.#countImage(data, undefined);
      return true;
    }
    return false;
  }

  #countImage(url: string | undefined, detail: unknown): void {
    const comma = url?.startsWith('data:') === true ? url.indexOf(',') : -1;
    const size =
      url === undefined || comma === -1 ? undefined : this.#readers.sizeOfImage(url.slice(comma + 1));
    this.imageTokens += imageTokens(
      this.#model,
      size,
      detail === 'low' || detail === 'original' ? detail : 'high',
    );
  }
}

/** Returns the parts of a request that become input tokens. */
export function inputPartsOf(body: Fields, model: string, readers: InputReaders): InputParts {
  const collector = new Collector(model, readers);
  for (const [name, value] of Object.entries(body)) {
    if (unseenFields.has(name) && value != null) {
      collector.hasUnseen = true;
    } else if (name === 'prompt' && typeof value === 'object') {
      // A template that is stored at the provider.
      collector.hasUnseen = true;
    } else if (!settingFields.has(name)) {
      collector.add(value, name);
    }
  }
  const isOwnTokenizer = familyOf(model) === 'o200k';
  return {
    textBytes: collector.textBytes,
    textScore: collector.textScore,
    textFloor: isOwnTokenizer ? 0 : collector.textFloor,
    textClass: textClassOf(collector),
    imageTokens: collector.imageTokens,
    parts: collector.parts,
    toolFrameTokens: isOwnTokenizer ? tokensOfOpenAiToolFrame : tokensOfToolFrame,
    hasUnseen: collector.hasUnseen,
  };
}

/** The share of bytes beyond ASCII above which a text counts as one of another script. */
const otherScriptShare = 0.05;
/** Tokens per byte: prose is below the first, code and JSON below the second, random text above. */
const densities = [0.25, 0.4];

function textClassOf({ textBytes, textLength, textScore: score }: Collector): string {
  const script = textBytes - textLength > textBytes * otherScriptShare ? 'other' : 'ascii';
  const density = score / Math.max(1, textBytes);
  return `${script}-${densities.filter((bound) => density >= bound).length}`;
}

export interface EstimateRules {
  /** Tokens per point of the text score, for the family of the model. */
  readonly ratio: number;
  /** Input tokens assumed for content that cannot be seen. */
  readonly unseenTokens: number;
  /** The context of the model; undefined if it is not known. A request cannot have more input. */
  readonly contextTokens: number | undefined;
  readonly hasTools: boolean;
}

export function estimatedInputTokens(input: InputParts, rules: EstimateRules): number {
  const scored = Math.max(Math.ceil(input.textScore * rules.ratio), input.textFloor);
  const text = Math.min(input.textBytes, scored);
  const frame = tokensOfFrame + (rules.hasTools ? input.toolFrameTokens : 0) + input.parts * tokensPerPart;
  const tokens = text + frame + input.imageTokens + (input.hasUnseen ? rules.unseenTokens : 0);
  return rules.contextTokens === undefined ? tokens : Math.min(tokens, rules.contextTokens);
}
