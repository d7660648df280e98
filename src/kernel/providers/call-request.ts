/** The fields of a request that bound its output, in each shape. */
import { type Fields, fieldsOf, type Shape } from './call-usage.ts';

/** Fields that limit the output. */
export const maxFieldsOf: Readonly<Record<Shape, readonly string[]>> = {
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
  embeddings: [],
};
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
