/** Providers charge for reasoning that some models do not show: the bytes that are received are then no bound of the output. */
const hidesReasoning = /(^|\/)(o\d|gpt-5|gemini-(2\.5|[3-9])|grok-(3-mini|[4-9]))/;

/** Returns true if every output token of the call can be seen in its stream. `thinkingTokens` are those that the call requests. */
export function showsAllOutput(model: string, thinkingTokens: number): boolean {
  return !hidesReasoning.test(model) && thinkingTokens === 0;
}
