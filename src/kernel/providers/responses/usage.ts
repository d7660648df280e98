import { type CallUsage, type ModelUsage, noTokens } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { defaultImageModel } from '../offered-tools.ts';
import { openAiUsage } from '../openai-usage.ts';
import { type ServerTools, toolsInOutput, withServerTools } from '../server-tools.ts';
import { countOf } from '../usage-counts.ts';

/** Returns the usage of a whole response, including that of its tools; undefined if no usage can be read. */
export function responsesUsage(response: unknown): CallUsage | undefined {
  const fields = fieldsOf(response);
  const { usage, service_tier: tier, output } = fields;
  const reported = openAiUsage(usage, tier);
  if (reported === undefined) {
    return undefined;
  }
  const { image_gen: images, web_search: search } = fieldsOf(fields.tool_usage);
  const toolModels = imageUsage(fieldsOf(images), fields);
  const searches = countOf(fieldsOf(search).num_requests);
  return withToolCalls(
    withServerTools({ ...reported, toolModels }, searches > 0 ? { web_search: searches } : {}),
    toolsInOutput(output),
  );
}

/** Returns the usage with at least these calls of tools. Generated images with reported tokens are charged by these alone. */
export function withToolCalls(usage: CallUsage, calls: ServerTools): CallUsage {
  const { image_generation: _, ...others } = calls;
  return withServerTools(usage, usage.toolModels.length > 0 ? others : calls);
}

/** OpenAI reports the tokens of its image model beside the usage, and the model in the tools of the response. */
function imageUsage(reported: Fields, { tools }: Fields): readonly ModelUsage[] {
  const inputTokens = countOf(reported.input_tokens);
  const outputTokens = countOf(reported.output_tokens);
  if (inputTokens === 0 && outputTokens === 0) {
    return [];
  }
  const tool = (Array.isArray(tools) ? tools : [])
    .map(fieldsOf)
    .find(({ type }) => type === 'image_generation');
  const model = typeof tool?.model === 'string' ? tool.model : defaultImageModel;
  const imageTokens = countOf(fieldsOf(reported.input_tokens_details).image_tokens);
  const imageInputTokens = Math.min(imageTokens, inputTokens);
  return [{ ...noTokens, model, inputTokens, imageInputTokens, outputTokens }];
}
