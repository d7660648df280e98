/** Members of requests to the Responses API. */
import { type FormatMembers, type MemberTable, members, parts } from '../member-kinds.ts';

const breakpoint = { prompt_cache_breakpoint: 'settings', cache_control: 'settings' } as const;

const image = members('detail', { image_url: 'image', file_id: 'reference', ...breakpoint });

const content = parts({
  input_text: members('text', breakpoint),
  output_text: members('text', { annotations: 'json', logprobs: 'json', ...breakpoint }),
  text: members('text', breakpoint),
  summary_text: members('text'),
  reasoning_text: members('text'),
  refusal: members('refusal'),
  input_image: image,
  computer_screenshot: image,
  input_file: members('filename detail', {
    file_data: 'blob',
    file_id: 'reference',
    file_url: 'reference',
    ...breakpoint,
  }),
  input_audio: members('', { input_audio: 'blob', ...breakpoint }),
});

const tool = members(
  'type name description strict defer_loading allowed_callers execution display_width display_height',
  {
    parameters: 'json',
    output_schema: 'json',
    format: 'json',
    environment: 'settings',
    tools: 'tools',
  },
);

const message = members('type role id status phase', { content });

/** Members that most items have. */
const item = (texts: string, others: Parameters<typeof members>[1] = {}): MemberTable =>
  members(`id call_id status ${texts}`, { caller: 'settings', ...others });

/** An item of another type, or an item with only an id, refers to content that the provider has stored. */
const items = parts(
  {
    message,
    function_call: item('name namespace', { arguments: 'json' }),
    function_call_output: item('', { output: content }),
    custom_tool_call: item('name input namespace'),
    custom_tool_call_output: item('', { output: content }),
    reasoning: item('', { summary: content, content, encrypted_content: 'encrypted' }),
    compaction: item('', { encrypted_content: 'encrypted' }),
    compaction_summary: item('', { encrypted_content: 'encrypted' }),
    local_shell_call: item('', { action: 'json' }),
    local_shell_call_output: item('output'),
    shell_call: item('', { action: 'json', environment: 'settings' }),
    shell_call_output: item('max_output_length', { output: 'json' }),
    apply_patch_call: item('', { operation: 'json' }),
    apply_patch_call_output: item('output'),
    computer_call: item('', { action: 'json', actions: 'json', pending_safety_checks: 'json' }),
    computer_call_output: item('current_url', {
      output: { objectOf: members('type detail', { image_url: 'image', file_id: 'reference' }) },
      acknowledged_safety_checks: 'json',
    }),
    mcp_list_tools: item('server_label', { tools: 'json', error: 'json' }),
    mcp_approval_request: item('name server_label', { arguments: 'json' }),
    mcp_approval_response: item('approval_request_id approve reason'),
    mcp_call: item('name server_label approval_request_id', {
      arguments: 'json',
      error: 'json',
      output: 'json',
    }),
    tool_search_call: item('execution', { arguments: 'json' }),
    tool_search_output: item('execution', { tools: 'tools' }),
    additional_tools: item('role', { tools: 'tools' }),
    compaction_trigger: item(''),
    image_generation_call: item('revised_prompt size quality background output_format action', {
      result: 'blob',
    }),
  },
  message,
);

export const responsesMembers: FormatMembers = {
  request: members(
    'model instructions max_output_tokens max_tool_calls parallel_tool_calls service_tier store stream temperature top_p top_logprobs ' +
      'truncation user safety_identifier prompt_cache_key prompt_cache_retention include background reasoning_effort n max_tokens ' +
      'max_completion_tokens top_k presence_penalty frequency_penalty seed session_id',
    {
      input: items,
      tools: 'tools',
      tool_choice: 'settings',
      text: 'settings',
      reasoning: 'settings',
      stream_options: 'settings',
      context_management: 'settings',
      moderation: 'settings',
      prompt_cache_options: 'settings',
      provider: 'settings',
      models: 'settings',
      metadata: 'json',
      client_metadata: 'json',
      previous_response_id: 'reference',
      conversation: 'reference',
      prompt: 'reference',
      web_search_options: 'tool',
      search_parameters: 'tool',
      plugins: 'tool',
      enable_search: 'tool',
      web_search: 'tool',
      mcp_servers: 'tool',
      container: 'tool',
    },
  ),
  tool,
};
