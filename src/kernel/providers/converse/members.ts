/** Members of `Converse`. Blocks of content have no type, but one member with the name of it. */
import { type FormatMembers, listOf, type MemberTable, members, objectOf } from '../member-kinds.ts';

const cachePoint = objectOf(members('type ttl'));
const text = members('text');
const imageSource = objectOf(
  new Map([
    ['bytes', 'imageBytes' as const],
    ['s3Location', 'reference' as const],
  ]),
);
const image = objectOf(members('format', { source: imageSource, error: 'settings' }));
const documentSource = objectOf(
  members('text', { content: listOf(text), bytes: 'blob', s3Location: 'reference' }),
);
const document = objectOf(members('format name context', { source: documentSource, citations: 'settings' }));
const mediaSource = objectOf(
  new Map([
    ['bytes', 'blob' as const],
    ['s3Location', 'reference' as const],
  ]),
);
const media = objectOf(members('format', { source: mediaSource, error: 'settings' }));
const searchResult = objectOf(members('source title', { content: listOf(text), citations: 'settings' }));
const toolChange = objectOf(new Map([['tool', objectOf(members('type name serverName'))]]));

const resultContent = members('text', { json: 'json', image, document, video: media, searchResult });
const guardContent = objectOf(
  new Map([
    ['text', objectOf(members('text qualifiers'))],
    ['image', image],
  ]),
);

const content = members('text', {
  image,
  document,
  video: media,
  audio: media,
  toolUse: objectOf(members('toolUseId name type', { input: 'json' })),
  toolResult: objectOf(members('toolUseId status type', { content: listOf(resultContent) })),
  guardContent,
  cachePoint,
  reasoningContent: objectOf(
    members('', {
      reasoningText: objectOf(members('text signature')),
      redactedContent: 'encrypted',
    }),
  ),
  citationsContent: objectOf(members('', { content: listOf(text), citations: 'json' })),
  searchResult,
  toolAddition: toolChange,
  toolRemoval: toolChange,
});

/** Documented members of models. Others may have content, or tools. */
const modelFields = members(
  'top_k topK k temperature top_p max_tokens max_tokens_to_sample max_new_tokens reasoning_effort anthropic_beta effort',
  {
    thinking: objectOf(members('type budget_tokens display')),
    reasoning_config: objectOf(members('type budget_tokens')),
    reasoningConfig: objectOf(members('type maxReasoningEffort budget_tokens')),
    output_config: 'settings',
    tools: 'tools',
    tool_choice: 'settings',
  },
);

const toolSpec: MemberTable = members('name description strict', {
  inputSchema: objectOf(new Map([['json', 'json' as const]])),
});

export const converseMembers: FormatMembers = {
  request: members('additionalModelResponseFieldPaths schemaVersion', {
    messages: listOf(members('role', { content: listOf(content) })),
    system: listOf(members('text', { guardContent, cachePoint })),
    inferenceConfig: objectOf(
      members('maxTokens max_new_tokens temperature topP top_p topK top_k stopSequences'),
    ),
    toolConfig: objectOf(
      new Map([
        ['tools', 'tools' as const],
        ['toolChoice', 'settings' as const],
      ]),
    ),
    additionalModelRequestFields: objectOf(modelFields),
    requestMetadata: 'json',
    performanceConfig: 'settings',
    serviceTier: 'settings',
    outputConfig: 'settings',
  }),
  tool: new Map([
    ['toolSpec', objectOf(toolSpec)],
    ['cachePoint', cachePoint],
  ]),
};
