/** Changes to a valid call. Each is drawn from a seed of its own, so that a failing call can be repeated with fewer of them. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Random } from '../../src/demo/random.ts';
import {
  jsonOf,
  type List,
  type Members,
  memberOf,
  type Node,
  nameOf,
  objectsIn,
  type Scalar,
  textOf,
  treeOf,
} from './json-tree.ts';
import { variantOf } from './name-variants.ts';
import { type AdversaryShape, isConverse, isGemini } from './shapes.ts';
import { hostileText, payload } from './texts.ts';
import { costlyMembers, pngOf } from './valid-calls.ts';

/** A call that is being changed. */
export interface Draft {
  readonly shape: AdversaryShape;
  readonly body: Members;
  readonly headers: Record<string, string>;
  /** Makes the bytes of the body from its text. */
  encode: (text: string) => Buffer;
}

export type Mutation = (draft: Draft, random: Random) => void;

export function bytesOf({ body, encode }: Draft): Buffer {
  return encode(jsonOf(body));
}

function pickMember(draft: Draft, random: Random) {
  const object = random.pick(objectsIn(draft.body).filter(({ members }) => members.length > 0));
  return { object, member: random.pick(object.members) };
}

function pickCostly(draft: Draft, random: Random): readonly [string, unknown] {
  return random.pick(Object.entries(costlyMembers(draft.shape, payload)));
}

function hasMember({ members }: Members, name: string): boolean {
  return members.some((member) => nameOf(member) === name);
}

/** Adds a member at a random place. */
function insert({ members }: Members, random: Random, name: string, value: unknown): void {
  members.splice(Math.floor(random.between(0, members.length + 1)), 0, memberOf(name, value));
}

/** Sets a member of the body, or adds it. */
function set({ body }: Draft, name: string, value: unknown): void {
  const member = body.members.find((one) => nameOf(one) === name);
  if (member === undefined) {
    body.members.push(memberOf(name, value));
  } else {
    member.value = treeOf(value);
  }
}

/** Objects that are messages or parts of their content. */
function partsIn({ body }: Draft): Members[] {
  const parts = objectsIn(body).filter((object) =>
    ['type', 'content', 'text', 'role'].some((name) => hasMember(object, name)),
  );
  return parts.length === 0 ? [body] : parts;
}

/** Texts of the prompt. */
function textsIn(draft: Draft): Scalar[] {
  const found: Scalar[] = [];
  for (const object of objectsIn(draft.body)) {
    for (const member of object.members) {
      const isText = ['content', 'text', 'input', 'instructions', 'system', 'description', 'output'].includes(
        nameOf(member),
      );
      if (isText && textOf(member.value) !== undefined) {
        found.push(member.value as Scalar);
      }
    }
  }
  return found;
}

const otherTypes: readonly unknown[] = [
  null,
  true,
  false,
  0,
  7,
  -1,
  1.5,
  '',
  '7',
  'true',
  [],
  {},
  [null],
  { a: 1 },
];
const wrongTypes: readonly unknown[] = [
  ...[
    'image_url',
    'input_image',
    'image',
    'text',
    'input_text',
    'file',
    'document',
    'thinking',
    'tool_result',
  ],
  ...['IMAGE_URL', 'unknown', '', null, 7, [], {}, 'redacted_thinking', 'reasoning', 'compaction', 'refusal'],
];
const unknownNames = [
  'x',
  'extra',
  'extra_body',
  'comment',
  'reasoning_content',
  'chat_template_kwargs',
  'name',
  'context',
];
const maxNames = [
  ...[
    'max_completion_tokens',
    'max_tokens',
    'maxTokens',
    'max_output_tokens',
    'maxOutputTokens',
    'max_new_tokens',
  ],
  ...['num_predict', 'max_length', 'n_predict', 'max_tokens_to_sample', 'max_gen_len'],
];

const serverTools: readonly object[] = [
  ...['web_search', 'web_search_preview', 'web_search_preview_2025_03_11', 'web_search_2025_08_26'],
  ...['web_search_20250305', 'web_search_20260209', 'web_fetch_20250910', 'code_execution_20250825'],
  ...[
    'code_interpreter',
    'image_generation',
    'tool_search',
    'tool_search_tool_regex_20251119',
    'browser_search',
  ],
  ...[
    'x_search',
    'live_search',
    'openrouter:web_search',
    'google_search',
    'url_context',
    'computer_use_preview',
  ],
  ...['local_shell', 'shell', 'apply_patch', 'bash_20250124', 'memory_20250818', 'text_editor_20250728'],
].map((type) => ({ type, name: 'tool' }));

const providerFields: readonly (readonly [string, unknown])[] = [
  ['prediction', { type: 'content', content: payload }],
  ['models', ['gpt-4o-usual', 'gpt-4o-expensive', 'claude-expensive', 'text-embedding-expensive']],
  ['route', 'fallback'],
  ['plugins', [{ id: 'web', max_results: 5 }]],
  ['plugins', [{ id: 'file-parser' }]],
  ['provider', { order: ['expensive'], allow_fallbacks: true }],
  ['background', true],
  ['previous_response_id', 'resp_1'],
  ['conversation', 'conv_1'],
  ['conversation', { id: 'conv_1' }],
  ['prompt', { id: 'pmpt_1', variables: { text: payload } }],
  ['store', true],
  ['service_tier', 'priority'],
  ['service_tier', 'auto'],
  ['speed', 'fast'],
  ['n', 5],
  ['best_of', 6],
  ['modalities', ['text', 'audio']],
  ['audio', { voice: 'alloy', format: 'mp3' }],
  ['web_search_options', {}],
  ['web_search_options', { search_context_size: 'high' }],
  ['search_parameters', { mode: 'on' }],
  ['enable_search', true],
  ['data_sources', [{ type: 'azure_search', parameters: {} }]],
  ['cached_content', 'cachedContents/1'],
  ['documents', [{ title: 'a', text: payload }]],
  ['mcp_servers', [{ type: 'url', url: 'https://tools.invalid', name: 'a' }]],
  ['container', { id: 'container_1', skills: [] }],
  ['tools', [{ type: 'mcp', server_label: 'a', server_url: 'https://tools.invalid' }]],
  ['compaction', { type: 'summarize' }],
  ['thinking_budget', 30_000],
  ['chat_template', '{% for i in range(9999) %} a{% endfor %}'],
  ['mm_processor_kwargs', { min_pixels: 90_000_000 }],
  ['tools', [{ type: 'mcp', server_label: 'a', connector_id: 'connector_gmail' }]],
  ['tools', [{ type: 'file_search', vector_store_ids: ['vs_1'] }]],
  ['tools', [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }]],
  ['max_tool_calls', 4],
  ['reasoning_effort', 'high'],
  ['reasoning', { effort: 'high' }],
  ['thinking', { type: 'enabled', budget_tokens: 500 }],
  ['thinking', { type: 'adaptive' }],
  ['system', payload],
  ['instructions', payload],
  ['suffix', payload],
  ['context_management', { edits: [{ type: 'compact_20260112' }] }],
  ['metadata', { note: payload.slice(0, 500) }],
  ['user', payload],
  ['stop', [payload.slice(0, 200)]],
  ['logit_bias', { 50256: -100 }],
];

const headers: readonly (readonly [string, string])[] = [
  ['anthropic-beta', 'context-1m-2025-08-07,interleaved-thinking-2025-05-14'],
  ['openai-beta', 'responses=v1'],
  ['x-svc-on-limit', 'fit'],
  ['x-svc-max-cost-usd', '0.05'],
  ['content-type', 'application/json; charset=iso-8859-1'],
  ['content-type', 'application/json; charset=utf-16le'],
  ['content-type', 'application/json; charset=windows-1252'],
  ['content-type', 'application/json; charset=shift_jis'],
  ['content-type', 'text/plain'],
  ['content-type', 'application/x-www-form-urlencoded'],
  ['content-encoding', 'identity'],
  ['x-http-method-override', 'DELETE'],
  ['accept', 'text/event-stream'],
];

/** Returns the value inside as many lists, or objects. */
function nested(value: Node, levels: number, wrap: (inner: Node) => Node): Node {
  let node = value;
  for (let level = 0; level < levels; level += 1) {
    node = wrap(node);
  }
  return node;
}

const inList = (inner: Node): List => ({ kind: 'list', items: [inner] });
const inObject =
  (name: string) =>
  (inner: Node): Members => ({
    kind: 'object',
    members: [{ name: JSON.stringify(name), value: inner }],
  });

/** Writes one letter of a name as an escape: `"\u006dodel"`. */
function escapedName(name: string, random: Random): string {
  const index = Math.floor(random.between(0, name.length));
  const code = name.charCodeAt(index).toString(16).padStart(4, '0');
  // Earlier mutations may have put characters into the name that JSON has to escape.
  const written = (part: string) => JSON.stringify(part).slice(1, -1);
  return `"${written(name.slice(0, index))}\\u${code}${written(name.slice(index + 1))}"`;
}

const utf8 = (text: string) => Buffer.from(text);

export const mutations = {
  'spell a name otherwise': (draft, random) => {
    const { member } = pickMember(draft, random);
    member.name = JSON.stringify(variantOf(nameOf(member), random));
  },
  'add a costly member under another spelling': (draft, random) => {
    const [name, value] = pickCostly(draft, random);
    insert(draft.body, random, variantOf(name, random), value);
  },
  'spell a type or a role otherwise': (draft, random) => {
    const member = random.pick(partsIn(draft)).members.find((one) => ['type', 'role'].includes(nameOf(one)));
    const text = member && textOf(member.value);
    if (member !== undefined && text !== undefined) {
      member.value = treeOf(variantOf(text, random));
    }
  },
  'replace a value by one of another type': (draft, random) => {
    pickMember(draft, random).member.value = treeOf(random.pick(otherTypes));
  },
  'write a costly setting in another type': (draft, random) => {
    const [name, value] = random.pick<readonly [string, unknown]>([
      ...['8', 8.0, [8], true, '8.0', 8.5].map((one) => ['n', one] as const),
      ...['true', 1, '1', [true]].map((one) => ['stream', one] as const),
      ...['true', 1, '1'].map((one) => ['background', one] as const),
      ...maxNames.flatMap((max) => ['1900', [1_900], 1_900.5, '1.9e3'].map((one) => [max, one] as const)),
    ]);
    set(draft, name, value);
  },
  'write a number unusually': (draft, random) => {
    const member = draft.body.members.find((one) => /^"(n|max_\w+)"$/.test(one.name));
    const json = [
      '1.9e3',
      '1900.0',
      '19E2',
      '-0',
      '0.0',
      '1e400',
      '18446744073709551676',
      '1900.00000000000000001',
    ];
    if (member !== undefined) {
      member.value = { kind: 'scalar', json: random.pick(json) };
    }
  },
  'remove a member': (draft, random) => {
    const { object, member } = pickMember(draft, random);
    // The next change of this call needs a member to choose.
    if (object !== draft.body || draft.body.members.length > 1) {
      object.members.splice(object.members.indexOf(member), 1);
    }
  },
  'put text beside a wrong type': (draft, random) => {
    const part = random.pick(partsIn(draft));
    const type = part.members.find((one) => nameOf(one) === 'type');
    const wrong = random.pick(wrongTypes);
    if (type === undefined) {
      insert(part, random, 'type', wrong);
    } else {
      type.value = treeOf(wrong);
    }
    insert(part, random, random.pick(['content', 'text', 'input', 'output', 'data', 'thinking']), payload);
  },
  'leave out a type': (draft, random) => {
    const part = random.pick(partsIn(draft));
    const index = part.members.findIndex((one) => nameOf(one) === 'type');
    if (index !== -1) {
      part.members.splice(index, 1);
    }
    insert(part, random, random.pick(['content', 'text']), payload);
  },
  'put text into an image or a file': (draft, random) => {
    const image = `data:image/png;base64,${pngOf(8, 8)}`;
    const part = random.pick<object>([
      { type: 'image_url', image_url: { url: image, text: payload } },
      { type: 'image_url', image_url: { url: image }, text: payload },
      { type: 'image_url', image_url: payload },
      { type: 'image_url', content: payload },
      { type: 'input_image', image_url: image, content: [{ type: 'input_text', text: payload }] },
      { type: 'input_image', input_text: payload },
      { type: 'image', source: { type: 'text', data: payload } },
      { type: 'image', source: { type: 'base64', data: pngOf(8, 8), text: payload } },
      { type: 'image', text: payload },
      { type: 'document', source: { type: 'text', data: payload } },
      { type: 'input_audio', input_audio: { data: payload, format: 'wav' } },
      { type: 'text', text: 'short', image_url: { url: `data:image/png;base64,${pngOf(4_000, 4_000)}` } },
      { type: 'text', text: 'short', source: { type: 'url', url: 'https://images.invalid/large.png' } },
    ]);
    const parts = Array.from({ length: random.pick([1, 1, 20]) }, () => part);
    set(draft, contentOf(draft.shape), turnOf(draft.shape, parts));
  },
  'move content into an unknown member': (draft, random) => {
    const { member } = pickMember(draft, random);
    member.value = inObject(random.pick(unknownNames))(member.value);
  },
  'add text under an unknown name': (draft, random) => {
    insert(random.pick(objectsIn(draft.body)), random, random.pick(unknownNames), payload);
  },
  'put text into a name': (draft, random) => {
    insert(random.pick(objectsIn(draft.body)), random, payload, random.pick<unknown>([1, '', null, {}]));
  },
  'nest a value': (draft, random) => {
    const { member } = pickMember(draft, random);
    const levels = random.pick([1, 2, 10, 100, 400]);
    const wrap = random.pick([inList, inObject(random.pick(['content', 'x', 'type', '']))]);
    member.value = nested(member.value, levels, wrap);
  },
  'nest thousands of levels': (draft, random) => {
    const levels = random.pick([1_000, 5_000, 50_000]);
    const [open, close] = random.pick([
      ['[', ']'],
      ['{"content":', '}'],
    ]) as readonly [string, string];
    const json = `${open.repeat(levels)}1${close.repeat(levels)}`;
    draft.body.members.push({ name: '"x"', value: { kind: 'scalar', json } });
  },
  'repeat a member with a costly value': (draft, random) => {
    const [name, value] = pickCostly(draft, random);
    insert(draft.body, random, name, value);
    if (draft.body.members.filter((one) => nameOf(one) === name).length === 1) {
      insert(draft.body, random, name, random.pick<unknown>([null, 1, 'x', []]));
    }
  },
  'repeat a member with an escape in its name': (draft, random) => {
    const [name, value] = pickCostly(draft, random);
    const written = { name: escapedName(name, random), value: treeOf(value) };
    draft.body.members.splice(Math.floor(random.between(0, draft.body.members.length + 1)), 0, written);
  },
  'repeat a nested member': (draft, random) => {
    const { object, member } = pickMember(draft, random);
    const value = random.pick<unknown>([
      payload,
      [{ type: 'text', text: payload }],
      { url: 'https://images.invalid/a.png' },
    ]);
    const written = {
      name: random.pick([member.name, escapedName(nameOf(member), random)]),
      value: treeOf(value),
    };
    object.members.splice(Math.floor(random.between(0, object.members.length + 1)), 0, written);
  },
  'escape a name': (draft, random) => {
    const { member } = pickMember(draft, random);
    member.name = escapedName(nameOf(member), random);
  },
  'change the encoding': (draft, random) => {
    draft.encode = random.pick<(text: string) => Buffer>([
      (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8(text)]),
      (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
      (text) => Buffer.from(text, 'utf16le'),
      (text) => Buffer.from(text, 'latin1'),
      (text) => utf8(` \n\t${text}\r\n `),
      (text) => utf8(`${text}\u0000`),
      (text) => utf8(`${text}{}`),
      (text) => utf8(text.replace('{', '{,')),
      (text) => utf8(`/* */${text}`),
    ]);
  },
  'compress the body': (draft, random) => {
    const [name, encode] = random.pick<readonly [string, (text: string) => Buffer]>([
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['gzip', utf8],
      ['gzip, gzip', (text) => gzipSync(gzipSync(text))],
    ]);
    draft.headers['content-encoding'] = name;
    draft.encode = encode;
  },
  'add bytes that are not UTF-8': (draft, random) => {
    const [name, value] = pickCostly(draft, random);
    const index = Math.floor(random.between(0, name.length));
    insert(draft.body, random, `${name.slice(0, index)}\u0001${name.slice(index)}`, value);
    const bytes = random.pick([[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f]]);
    draft.encode = (text) =>
      Buffer.from(
        Buffer.from(text)
          .toString('latin1')
          .replaceAll('\\u0001', String.fromCharCode(...bytes)),
        'latin1',
      );
  },
  'add surrogates and NUL': (draft, random) => {
    const found = textsIn(draft);
    const unit = random.pick(['\\ud800', '\\udc00\\ud800', '\\u0000', '\\ufeff', '\\uffff']);
    if (found.length > 0) {
      random.pick(found).json = `"${unit.repeat(random.pick([1, 300]))}"`;
    }
  },
  'replace a text by a hostile one': (draft, random) => {
    const found = textsIn(draft);
    if (found.length > 0) {
      random.pick(found).json = JSON.stringify(hostileText(random));
    }
  },
  'write a text in escapes': (draft, random) => {
    const found = textsIn(draft);
    if (found.length > 0) {
      const units = Array.from({ length: 400 }, () => Math.floor(random.between(0, 0x10000)));
      random.pick(found).json =
        `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
    }
  },
  'add many parts': (draft, random) => {
    const count = random.pick([50, 1_000]);
    const part = random.pick<unknown>([
      { role: 'user', content: 'a' },
      { type: 'text', text: 'a' },
      {},
      [],
      'a',
      7,
      12_345.678_901_234_567,
      null,
      { role: 'user', content: [{ type: 'text', text: '' }] },
    ]);
    set(
      draft,
      contentOf(draft.shape),
      Array.from({ length: count }, () => part),
    );
  },
  'add images': (draft, random) => {
    const side = () => random.pick([0, 1, 511, 513, 2_049, 8_000, 65_535]);
    const data = pngOf(side(), side());
    const url = random.pick([
      `data:image/png;base64,${data}`,
      `data:;base64,${data}`,
      `DATA:image/png;base64,${data}`,
      'https://images.invalid/large.png',
      `data:image/png,${encodeURIComponent(data)}`,
    ]);
    const detail = random.pick(['low', 'high', 'auto', 'LOW', 'original', null]);
    const parts: Readonly<Record<AdversaryShape, unknown>> = {
      chat: { type: 'image_url', image_url: { url, detail } },
      responses: { type: 'input_image', image_url: url, detail },
      messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      embeddings: { type: 'image_url', image_url: { url } },
      gemini: { inlineData: { mimeType: 'image/png', data } },
      gemini_embeddings: { inline_data: { mime_type: 'image/png', data } },
      vertex_embeddings: { image: { bytesBase64Encoded: data } },
      converse: { image: { format: 'png', source: { bytes: data } } },
    };
    const content = Array.from({ length: random.pick([1, 5]) }, () => parts[draft.shape]);
    set(draft, contentOf(draft.shape), turnOf(draft.shape, content));
  },
  'add a field of some provider': (draft, random) => {
    const [name, value] = random.pick(providerFields);
    set(draft, name, value);
  },
  'add a maximum of another name': (draft, random) => {
    set(draft, random.pick(maxNames), random.pick([1, 500, 1_900, 100_000]));
  },
  'put a setting into options': (draft, random) => {
    const setting = random.pick([...maxNames, 'n', 'best_of', 'candidate_count', 'num_return_sequences']);
    const value = { [setting]: random.pick([5, 500, 1_900]) };
    set(
      draft,
      random.pick(['options', 'parameters', 'generation_config', 'generationConfig', 'extra_body']),
      value,
    );
  },
  'count answers under another name': (draft, random) => {
    set(
      draft,
      random.pick(['best_of', 'candidate_count', 'num_return_sequences', 'num_generations', 'N']),
      4,
    );
  },
  'extend the context': (draft, random) => {
    draft.headers['anthropic-beta'] = 'context-1m-2025-08-07';
    const part = random.pick<object>([
      { type: 'text', text: payload },
      { type: 'document', source: { type: 'url', url: 'https://files.invalid/large.pdf' } },
    ]);
    set(draft, contentOf(draft.shape), [{ role: 'user', content: Array.from({ length: 20 }, () => part) }]);
  },
  'contradict the detail of an image': (draft) => {
    const url = `data:image/png;base64,${pngOf(2_000, 2_000)}`;
    const isChat = draft.shape === 'chat';
    const part = isChat
      ? { type: 'image_url', image_url: { url, detail: 'high' }, detail: 'low' }
      : { type: 'input_image', image_url: { url, detail: 'high' }, detail: 'low' };
    set(draft, contentOf(draft.shape), [{ role: 'user', content: [part, part, part] }]);
  },
  'add a tool that the provider runs': (draft, random) => {
    const tool = random.pick(serverTools);
    const more = random.pick<object>([
      {},
      { max_uses: 3 },
      { container: { type: 'auto' } },
      { description: payload },
    ]);
    set(draft, 'tools', [{ ...tool, ...more }]);
  },
  'hide a tool': (draft, random) => {
    const tool = random.pick(serverTools) as { readonly type: string };
    set(
      draft,
      'tools',
      random.pick<unknown>([
        { 0: tool },
        [[tool]],
        tool,
        [{ function: tool }],
        [{ ...tool, type: [tool.type] }],
        [{ ...tool, type: variantOf(tool.type, random) }],
        [{ [variantOf('type', random)]: tool.type }],
        [null, tool],
        JSON.stringify([tool]),
      ]),
    );
  },
  'change a header': (draft, random) => {
    const [name, value] = random.pick(headers);
    draft.headers[name] = value;
    if (value.includes('charset')) {
      const found = textsIn(draft);
      if (found.length > 0) {
        random.pick(found).json = JSON.stringify('古い町は川の岸にあり、🚢'.repeat(60));
      }
    }
  },
  'change a setting of Gemini': (draft, random) => {
    const [name, value] = random.pick<readonly [string, unknown]>([
      ['maxOutputTokens', 1_900],
      ['max_output_tokens', 1_900],
      ['max-output-tokens', 1_900],
      ['MaxOutputTokens', 1_900],
      ['maxTokens', 1_900],
      ['maxOutputTokens', '1900'],
      ['maxOutputTokens', null],
      ['maxOutputTokens', -1],
      ['maxOutputTokens', 0],
      ['max_output_tokens', 1_900.5],
      ['candidateCount', 5],
      ['candidate_count', 5],
      ['candidate_count', '5'],
      ['CandidateCount', 5],
      ['thinkingConfig', { thinkingBudget: 5_000 }],
      ['thinking_config', { thinking_level: 'high' }],
      ['responseSchema', { description: payload }],
      ['response_json_schema', { description: payload }],
      ['responseModalities', ['IMAGE', 'AUDIO']],
      ['speechConfig', { languageCode: payload }],
    ]);
    const config = draft.body.members.find((one) => /^"generation_?config"$/i.test(one.name));
    if (config?.value.kind === 'object') {
      insert(config.value, random, name, value);
    } else {
      set(draft, random.pick(['generationConfig', 'generation_config']), { [name]: value });
    }
  },
  'change a setting of Bedrock': (draft, random) => {
    const [outer, inner] = random.pick<readonly [string, unknown]>([
      ['inferenceConfig', { MaxTokens: 1_900 }],
      ['inferenceConfig', { max_tokens: 1_900, maxTokens: 5 }],
      ['inferenceConfig', { maxTokens: '1900' }],
      ['inference_config', { maxTokens: 1_900 }],
      ['InferenceConfig', { maxTokens: 1_900 }],
      ['maxTokens', 1_900],
      ['additionalModelRequestFields', { max_tokens: 1_900 }],
      ['additionalModelRequestFields', { inferenceConfig: { maxTokens: 1_900 } }],
      ['additionalModelRequestFields', { max_new_tokens: 1_900, n: 4 }],
      ['additionalModelRequestFields', { thinking: { type: 'enabled', budget_tokens: 1_500 } }],
      ['additionalModelRequestFields', { messages: [{ role: 'user', content: payload }] }],
      ['additional_model_request_fields', { max_tokens: 1_900 }],
      ['additionalModelRequestFields', [{ max_tokens: 1_900 }]],
      ['toolConfig', { tools: [{ systemTool: { name: 'nova_grounding' } }] }],
      ['tool_config', { tools: [{ type: 'web_search' }] }],
      ['toolConfig', { tools: [{ toolSpec: { name: 'a', description: payload } }, { type: 'web_search' }] }],
      ['serviceTier', { type: 'priority' }],
      ['serviceTier', 'priority'],
      ['service_tier', { type: 'priority' }],
      ['performanceConfig', { latency: 'optimized' }],
      ['guardrailConfig', { guardrailIdentifier: 'a' }],
      ['promptVariables', { a: { text: payload } }],
      ['outputConfig', { textFormat: { structure: { jsonSchema: { schema: payload } } } }],
      ['requestMetadata', { a: payload }],
    ]);
    set(draft, outer, inner);
  },
  'put unusual blocks into a turn': (draft, random) => {
    const bytes = Buffer.from(payload).toString('base64');
    const block = random.pick<object>([
      { image: { format: 'png', source: { bytes: pngOf(9_000, 9_000) } } },
      { image: { format: 'png', source: { s3Location: { uri: 's3://a/b' } } } },
      { document: { format: 'txt', name: 'a', source: { bytes, text: payload } } },
      { document: { format: 'txt', name: 'a', source: { s3_location: { uri: 's3://a/b' } } } },
      {
        document: {
          format: 'txt',
          name: payload,
          context: payload,
          source: { content: [{ text: payload }] },
        },
      },
      { video: { format: 'mp4', source: { s3Location: { uri: 's3://a/b' } } } },
      { toolUse: { toolUseId: 'a', name: 'b', input: { text: payload } } },
      { toolResult: { toolUseId: 'a', content: [{ json: { text: payload } }, { text: payload }] } },
      { reasoningContent: { reasoningText: { text: payload, signature: payload } } },
      { reasoningContent: { redactedContent: bytes } },
      { guardContent: { text: { text: payload } } },
      { citationsContent: { content: [{ text: payload }] } },
      { searchResult: { source: 'a', title: 'b', content: [{ text: payload }] } },
      { cachePoint: { type: 'default', ttl: '1h' }, text: payload },
      { text: payload, Text: payload },
    ]);
    set(draft, contentOf(draft.shape), turnOf(draft.shape, [block, { text: 'a' }]));
  },
  'add a tool of Gemini': (draft, random) => {
    const name = random.pick([
      ...['googleSearch', 'google_search', 'googleSearchRetrieval', 'googleMaps', 'google_maps'],
      ...['urlContext', 'url_context', 'codeExecution', 'fileSearch', 'computerUse', 'enterpriseWebSearch'],
      ...['GoogleSearch', 'google-search', 'retrieval'],
    ]);
    const tool = { [name]: random.pick<unknown>([{}, null, true, [], { excludeDomains: [payload] }]) };
    const beside = { functionDeclarations: [{ name: 'a', description: 'b' }] };
    set(
      draft,
      random.pick(['tools', 'Tools', 'tool']),
      random.pick<unknown>([[tool], [beside, tool], [{ ...beside, ...tool }], tool, [[tool]]]),
    );
  },
  'put unusual parts into a turn': (draft, random) => {
    const text = Buffer.from(payload).toString('base64');
    const part = random.pick<object>([
      { inlineData: { mimeType: 'text/plain', data: text } },
      { inline_data: { mime_type: 'text/html', mimeType: 'image/png', data: text } },
      { inlineData: { mimeType: 'image/png', data: pngOf(9_000, 9_000) } },
      {
        inlineData: { mimeType: 'image/png', data: pngOf(8, 8) },
        inline_data: { data: pngOf(9_000, 9_000) },
      },
      { fileData: { mimeType: 'video/mp4', fileUri: 'https://youtu.be/1' } },
      { file_data: { file_uri: 'files/1' } },
      { text: 'short', thought: true, thoughtSignature: payload },
      { functionResponse: { name: 'a', response: { output: payload } } },
      { function_response: { name: 'a', parts: [{ inline_data: { mime_type: 'text/plain', data: text } }] } },
      { functionCall: { name: 'a', args: { text: payload } } },
      { executableCode: { language: 'PYTHON', code: payload } },
      { code_execution_result: { outcome: 'OUTCOME_OK', output: payload } },
      { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', response: { text: payload } } },
      { partMetadata: { text: payload } },
      { text: payload, Text: payload },
    ]);
    set(draft, contentOf(draft.shape), turnOf(draft.shape, [part, { text: 'a' }]));
  },
  'use another model': (draft, random) => {
    set(
      draft,
      'model',
      random.pick(['gpt-4o-usual', 'gpt-4-usual', 'gpt-4o-expensive', 'claude-usual', 'no-such-model']),
    );
  },
} as const satisfies Readonly<Record<string, Mutation>>;

export type MutationName = keyof typeof mutations;
export const mutationNames = Object.keys(mutations) as readonly MutationName[];

function contentOf(shape: AdversaryShape): string {
  if (isGemini(shape)) {
    return shape === 'gemini' ? 'contents' : shape === 'gemini_embeddings' ? 'content' : 'instances';
  }
  return shape === 'chat' || shape === 'messages' || isConverse(shape) ? 'messages' : 'input';
}

function turnOf(shape: AdversaryShape, parts: readonly unknown[]): unknown {
  return shape === 'gemini_embeddings'
    ? { parts }
    : [{ role: 'user', [isGemini(shape) ? 'parts' : 'content']: parts }];
}
