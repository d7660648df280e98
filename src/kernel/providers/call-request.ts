/** The fields of a request that bound its output, or select its rates, in each shape. */
import { isServiceWord, type Shape } from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';

/** Fields that limit the output. */
export const maxFieldsOf: Readonly<Record<Shape, readonly string[]>> = {
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
  embeddings: [],
};

/** Names of the same limit in formats of other providers, and in documented formats other than that of the request. */
const otherMaxFields = [
  ...['max_new_tokens', 'num_predict', 'n_predict', 'max_length', 'max_tokens_to_sample', 'max_gen_len'],
  ...['max_completion_tokens', 'max_tokens', 'max_output_tokens'],
];

/** Every field that some provider takes for the maximum of the output, the documented ones first. */
export const anyMaxFieldsOf: Readonly<Record<Shape, readonly string[]>> = {
  chat: withOthers('chat'),
  responses: withOthers('responses'),
  messages: withOthers('messages'),
  embeddings: [],
};

function withOthers(shape: Shape): readonly string[] {
  return [...new Set([...maxFieldsOf[shape], ...otherMaxFields])];
}

/** Fields for the number of alternative answers: that of OpenAI, and those of other providers. */
export const choiceFields: readonly string[] = [
  ...['n', 'best_of', 'candidate_count', 'num_return_sequences', 'num_generations'],
];

/** Fields that bound or multiply the output. They have a meaning in the body itself only. */
export const outputFields: ReadonlySet<string> = new Set([...otherMaxFields, ...choiceFields]);

/** Returns the budget of extended thinking. The output must be larger, because it is a part of it. */
export function thinkingTokensOf(body: Fields): number {
  const { budget_tokens: budget } = fieldsOf(body.thinking);
  return typeof budget === 'number' && budget > 0 ? Math.ceil(budget) : 0;
}

/** Returns the field that limits the output of a request without a limit. `isOpenAi`: the provider is OpenAI or Azure. */
export function defaultMaxField(shape: Shape, isOpenAi: boolean): string {
  switch (shape) {
    case 'responses':
      return 'max_output_tokens';
    case 'messages':
      return 'max_tokens';
    default:
      // OpenAI's reasoning models reject `max_tokens`; many compatible providers know no other name.
      return isOpenAi ? 'max_completion_tokens' : 'max_tokens';
  }
}

export interface RequestedService {
  readonly service_tier?: string;
  readonly region?: string;
}

/** The service of most requests. */
export const usualService: RequestedService = {};

/** Returns the service that a request asks for. The provider may serve it otherwise, and reports that. */
export function requestedServiceOf(shape: Shape, body: Fields): RequestedService {
  const tier = shape === 'messages' && body.speed === 'fast' ? body.speed : body.service_tier;
  const region = shape === 'messages' ? body.inference_geo : undefined;
  if (tier == null && region == null) {
    return usualService;
  }
  return {
    ...(isServiceWord(tier) && { service_tier: tier }),
    ...(isServiceWord(region) && { region }),
  };
}
