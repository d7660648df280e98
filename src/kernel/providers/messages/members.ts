/** Members of requests to Anthropic's Messages API. */
import {
  documentOf,
  type FormatMembers,
  listOf,
  type MemberTable,
  members,
  objectOf,
  parts,
} from '../member-kinds.ts';

const block = (texts: string, others: Parameters<typeof members>[1] = {}): MemberTable =>
  members(texts, { cache_control: 'settings', ...others });

const image = block('', { source: 'imageSource', transformations: 'settings' });
const text = block('text', { citations: 'json' });
const document = block('title context', {
  source: documentOf(parts({ text, image })),
  citations: 'settings',
});
const searchResult = block('source title', { content: parts({ text }), citations: 'settings' });
const toolReference = block('tool_name');

const referencedTool = { tool: objectOf(members('type name server_name', { definition: 'json' })) };
const toolChanges = parts({
  tool_addition: block('', referencedTool),
  tool_removal: block('', referencedTool),
});

const resultContent = parts({
  text,
  image,
  document,
  search_result: searchResult,
  tool_reference: toolReference,
});

const content = parts({
  text,
  image,
  document,
  search_result: searchResult,
  tool_reference: toolReference,
  thinking: block('thinking signature'),
  redacted_thinking: block('', { data: 'encrypted' }),
  tool_use: block('id name toolset_name', { input: 'json', caller: 'settings' }),
  tool_result: block('tool_use_id is_error toolset_name', { content: resultContent }),
  server_tool_use: block('id name', { input: 'json', caller: 'settings' }),
  mcp_tool_use: block('id name server_name', { input: 'json' }),
  mcp_tool_result: block('tool_use_id is_error', { content: resultContent }),
  compaction: block('content signature', { encrypted_content: 'encrypted', tool_changes: toolChanges }),
  tool_addition: block('', referencedTool),
  tool_removal: block('', referencedTool),
});

export const messagesMembers: FormatMembers = {
  request: members(
    'model max_tokens stop_sequences stream temperature top_k top_p service_tier speed inference_geo user_profile_id workspace_id ' +
      'anthropic_version anthropic_beta n max_completion_tokens max_output_tokens max_tokens_to_sample',
    {
      messages: listOf(members('role id', { content })),
      system: content,
      tools: 'tools',
      tool_choice: 'settings',
      thinking: 'settings',
      output_config: 'settings',
      output_format: 'settings',
      context_management: 'settings',
      compaction: 'settings',
      cache_control: 'settings',
      metadata: 'json',
      mcp_servers: 'tool',
      container: 'tool',
      diagnostics: 'settings',
      fallbacks: 'settings',
      fallback_credit_token: 'settings',
      thread: 'reference',
    },
  ),
  tool: members(
    'type name description strict defer_loading eager_input_streaming allowed_callers max_characters display_width_px display_height_px ' +
      'display_number enable_zoom',
    { input_schema: 'json', input_examples: 'json', cache_control: 'settings' },
  ),
};
