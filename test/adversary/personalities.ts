/** Ways in which providers read a request more leniently than its format says. Each is known from a parser, a framework or a provider. */

import { type Member, type Node, nameOf, textOf } from './json-tree.ts';
import { type AdversaryShape, hasModelInPath } from './shapes.ts';

export interface Personality {
  readonly name: string;
  /** Returns the form in which two names are compared. */
  fold(name: string): string;
  /** The member that counts if a name is repeated. `merged`: objects are merged, as Go does. */
  readonly repeated: 'first' | 'last' | 'merged';
  /** True if `"7"` is 7, and 1 is true. */
  readonly coerces: boolean;
  /** The text that becomes the prompt: that of the documented fields, every string in the body, or every name and value. */
  readonly prompt: 'documented' | 'strings' | 'names and values';
  /** Returns the names of the maximum of the output that the provider knows, the one that counts first. */
  maxNames(shape: AdversaryShape): readonly string[];
  /** True if fields of other providers and of routers in front of them are understood. */
  readonly hasExtensions: boolean;
  /** True if the charset in the content type is used. */
  readonly usesCharset: boolean;
  /** True if bytes that are not UTF-8 are left out, and not replaced. */
  readonly dropsInvalidBytes: boolean;
}

const documentedMaxNames: Readonly<Record<AdversaryShape, readonly string[]>> = {
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
  embeddings: [],
  gemini: ['max_output_tokens'],
  gemini_embeddings: [],
  vertex_embeddings: [],
  converse: ['max_tokens'],
};
const otherMaxNames = [
  'max_new_tokens',
  'num_predict',
  'max_length',
  'max_tokens_to_sample',
  'n_predict',
  'max_gen_len',
];

const allMaxNames = [...new Set(Object.values(documentedMaxNames).flat())];

const strict: Personality = {
  name: 'documented',
  fold: (name) => name,
  repeated: 'last',
  coerces: false,
  prompt: 'documented',
  maxNames: (shape) => documentedMaxNames[shape],
  hasExtensions: false,
  usesCharset: false,
  dropsInvalidBytes: false,
};

/** Go compares names by the simple folding of Unicode: the Kelvin sign is a k, the long s an s. */
const foldCase = (name: string) => name.toLowerCase().replaceAll('\u017f', 's');
const foldForms = (name: string) => foldCase(name.normalize('NFKC'));
/** Letters and digits alone: `maxTokens`, `max-tokens` and ` max_tokens` are one name. */
const foldStyle = (name: string) => foldForms(name).replaceAll(/[^\p{L}\p{N}]/gu, '');

const traits: readonly Personality[] = [
  strict,
  { ...strict, name: 'first name wins', repeated: 'first' },
  { ...strict, name: 'repeated objects are merged', repeated: 'merged' },
  { ...strict, name: 'names of any case', fold: foldCase },
  { ...strict, name: 'normalized names', fold: foldForms },
  { ...strict, name: 'names of any style', fold: foldStyle },
  { ...strict, name: 'coerced types', coerces: true },
  { ...strict, name: 'every string is prompt', prompt: 'strings' },
  { ...strict, name: 'every name and value is prompt', prompt: 'names and values' },
  {
    ...strict,
    name: 'other names of the maximum',
    hasExtensions: true,
    maxNames: (shape) => [...otherMaxNames, ...documentedMaxNames[shape], ...allMaxNames],
  },
  { ...strict, name: 'fields of other providers', hasExtensions: true },
  { ...strict, name: 'charset of the content type', usesCharset: true },
  { ...strict, name: 'invalid bytes are dropped', dropsInvalidBytes: true },
];

/** Only compatible providers may not know `max_completion_tokens`: OpenAI and Azure do. */
export const withoutCompletionMaximum: Personality = {
  ...strict,
  name: 'only max_tokens',
  maxNames: () => ['max_tokens'],
};

export const personalities: readonly Personality[] = [...traits, withoutCompletionMaximum];

/** Names that the interpretation reads. */
const knownNames = [
  ...allMaxNames,
  ...otherMaxNames,
  ...[
    'model',
    'models',
    'stream',
    'stream_options',
    'include_usage',
    'n',
    'best_of',
    'background',
    'prediction',
  ],
  ...[
    'messages',
    'input',
    'system',
    'instructions',
    'tools',
    'functions',
    'response_format',
    'text',
    'prompt',
  ],
  ...['content', 'type', 'role', 'image_url', 'url', 'detail', 'source', 'data', 'media_type', 'input_image'],
  ...['file_id', 'file_url', 'file_data', 'file', 'previous_response_id', 'conversation', 'container', 'id'],
  ...[
    'vector_store_ids',
    'mcp_servers',
    'server_url',
    'connector_id',
    'item_reference',
    'web_search_options',
  ],
  ...[
    'plugins',
    'data_sources',
    'search_parameters',
    'enable_search',
    'documents',
    'cached_content',
    'query',
  ],
  ...['service_tier', 'speed', 'cache_control', 'ttl', 'thinking', 'reasoning', 'reasoning_effort', 'effort'],
  ...[
    'parameters',
    'options',
    'candidate_count',
    'num_return_sequences',
    'num_generations',
    'generation_config',
    'extra_body',
    'input_schema',
    'schema',
    'arguments',
    'max_uses',
    'max_tool_calls',
    'name',
    'json_schema',
  ],
  ...['contents', 'system_instruction', 'parts', 'inline_data', 'mime_type', 'file_uri', 'requests'],
  ...['function_declarations', 'google_search', 'google_search_retrieval', 'google_maps', 'url_context'],
  ...['code_execution', 'file_search', 'thinking_config', 'response_schema', 'response_json_schema'],
  ...['parameters_json_schema', 'function_call', 'function_response', 'args', 'response'],
  ...[
    'inference_config',
    'additional_model_request_fields',
    'tool_config',
    'cache_point',
    's3_location',
    'bytes',
  ],
  ...['reasoning_config', 'system_tool', 'tool_spec', 'image', 'guardrail_config', 'performance_config'],
  ...['input_audio', 'audio', 'modalities', 'tool_calls', 'function', 'output', 'thinking_budget', 'summary'],
];

/** A value as the provider sees it: known names are spelled as documented. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };
export type Fields = Readonly<Record<string, Plain | undefined>>;

type KnownNames = ReadonlyMap<string, string>;
const namesByFold = new Map<Personality['fold'], KnownNames>();
const bothCasesByFold = new Map<Personality['fold'], KnownNames>();

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Gemini reads each name in camelCase and in snake_case, and so does a lenient Bedrock. */
function knownNamesOf(fold: Personality['fold'], shape: AdversaryShape): KnownNames {
  const byFold = hasModelInPath(shape) ? bothCasesByFold : namesByFold;
  const spellings = (name: string) => (hasModelInPath(shape) ? [camelCase(name), name] : [name]);
  const known =
    byFold.get(fold) ??
    new Map(knownNames.flatMap((name) => spellings(name).map((one) => [fold(one), name] as const)));
  byFold.set(fold, known);
  return known;
}

export function plainOf(node: Node, personality: Personality, shape: AdversaryShape): Plain {
  switch (node.kind) {
    case 'scalar':
      return textOf(node) ?? (JSON.parse(node.json) as Plain);
    case 'list':
      return node.items.map((item) => plainOf(item, personality, shape));
    case 'object':
      return objectOf(node.members, personality, shape);
  }
}

function objectOf(members: readonly Member[], personality: Personality, shape: AdversaryShape): Plain {
  const { fold, repeated } = personality;
  const known = knownNamesOf(fold, shape);
  const values = new Map<string, Plain>();
  for (const member of members) {
    const given = nameOf(member);
    const name = known.get(fold(given)) ?? given;
    const before = values.get(name);
    const value = plainOf(member.value, personality, shape);
    if (before === undefined || repeated === 'last') {
      values.set(name, value);
    } else if (repeated === 'merged') {
      values.set(name, isObject(before) && isObject(value) ? { ...before, ...value } : value);
    }
  }
  return Object.fromEntries(values);
}

export function isObject(value: Plain | undefined): value is { readonly [name: string]: Plain } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: Plain | undefined): value is readonly Plain[] {
  return Array.isArray(value);
}
