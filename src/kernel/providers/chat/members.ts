/** Members of chat requests: those of OpenAI, and of the compatible providers, routers and servers that add their own. */
import { type FormatMembers, listOf, members, objectOf, type PartsOf, parts } from '../member-kinds.ts';

const breakpoints = { cache_control: 'settings', prompt_cache_breakpoint: 'settings' } as const;

const textPart = members('text', breakpoints);

/** Mistral has its reasoning in parts of its own. */
const thinkingTexts = parts({ text: textPart });

const content: PartsOf = parts({
  text: textPart,
  refusal: members('refusal'),
  image_url: members('detail', { image_url: 'image', ...breakpoints }),
  input_audio: members('', {
    input_audio: objectOf(members('format', { data: 'blob' })),
    ...breakpoints,
  }),
  file: members('', {
    file: objectOf(members('filename format', { file_data: 'blob', file_id: 'reference' })),
    ...breakpoints,
  }),
  thinking: members('closed signature', { thinking: thinkingTexts }),
});

const functionCall = members('name', { arguments: 'json' });
const toolCall = members('id type index', {
  function: objectOf(functionCall),
  custom: objectOf(members('name input')),
  extra_content: 'json',
  provider_specific_fields: 'json',
});

const message = members('role name id tool_call_id refusal reasoning_content reasoning prefix', {
  content,
  tool_calls: listOf(toolCall),
  function_call: objectOf(functionCall),
  audio: 'reference',
  annotations: 'json',
  reasoning_details: 'json',
  thinking_blocks: 'json',
  provider_specific_fields: 'json',
  cache_control: 'settings',
});

const toolFunction = members('name description strict', { parameters: 'json' });

/** Settings of OpenAI. */
const openAi =
  'model temperature top_p n stream stop max_tokens max_completion_tokens presence_penalty frequency_penalty logprobs top_logprobs user seed ' +
  'parallel_tool_calls reasoning_effort verbosity store service_tier modalities prompt_cache_key prompt_cache_retention safety_identifier';
/** Settings of other providers: OpenRouter, Groq, Mistral, xAI, DeepSeek, Alibaba, and of vLLM, SGLang and TGI. */
const others =
  'top_k min_p top_a typical_p repetition_penalty length_penalty no_repeat_ngram_size min_tokens stop_token_ids bad_words ignore_eos ' +
  'skip_special_tokens include_stop_str_in_output add_generation_prompt continue_final_message guided_regex guided_choice ' +
  'guided_grammar guided_decoding_backend regex ebnf allowed_token_ids return_tokens_as_token_ids echo priority request_id session_id ' +
  'include_reasoning reasoning_format reasoning_split enable_thinking thinking_budget transforms route safe_prompt random_seed prompt_mode ' +
  'deferred citation_options disable_tool_validation do_sample watermark seed_offset context_length_exceeded_behavior ' +
  'best_of candidate_count num_return_sequences num_generations max_new_tokens num_predict n_predict max_length max_tokens_to_sample max_gen_len ' +
  'max_output_tokens truncation';

export const chatMembers: FormatMembers = {
  request: members(`${openAi} ${others}`, {
    messages: listOf(message),
    tools: 'tools',
    functions: listOf(toolFunction),
    tool_choice: 'settings',
    function_call: 'settings',
    stream_options: 'settings',
    response_format: 'settings',
    audio: 'settings',
    moderation: 'settings',
    prompt_cache_options: 'settings',
    metadata: 'json',
    logit_bias: 'json',
    prediction: 'json',
    reasoning: 'settings',
    thinking: 'settings',
    provider: 'settings',
    usage: 'settings',
    models: 'settings',
    compound_custom: 'settings',
    trace: 'json',
    chat_template_kwargs: 'json',
    guided_json: 'json',
    structured_outputs: 'json',
    json_schema: 'json',
    documents: 'json',
    safety_settings: 'settings',
    vllm_xargs: 'settings',
    cache_control: 'settings',
    web_search_options: 'tool',
    search_parameters: 'tool',
    plugins: 'tool',
    enable_search: 'tool',
    web_search: 'tool',
    mcp_servers: 'tool',
    container: 'tool',
    cached_content: 'reference',
    // Unseen input: a template may repeat what it is given, and processor settings may make images larger.
    chat_template: 'reference',
    mm_processor_kwargs: 'reference',
    data_sources: 'reference',
    previous_response_id: 'reference',
    conversation: 'reference',
  }),
  tool: members('type name description strict', {
    function: objectOf(toolFunction),
    custom: objectOf(members('name description', { format: 'json' })),
    parameters: 'json',
    cache_control: 'settings',
  }),
};
