/** Providers charge for reasoning that some models do not show: the bytes that are received are then no bound of the output. */
import { type Fields, fieldsOf } from './fields.ts';

/** Models that reason although a call does not request it. Names of deployments often contain them: `prod-gpt-5-mini`. */
const hiding = /(?<![a-z0-9])(o\d|gpt-?([5-9]|[12]\d)|codex|gemini-(2\.5|[3-9])|grok-(3-mini|[4-9]))/i;
/** Families whose models show all their output, unless a call requests reasoning. */
const showing =
  /(?<![a-z0-9])(gpt-?[34]|chatgpt-4o|claude|gemini-(1|2\.0)|llama|mi[sx]tral|ministral|codestral|gemma|command-r|nova)/i;

/** True if the name is that of a model that does not show its reasoning. */
export function hidesReasoning(model: string): boolean {
  return hiding.test(model);
}

/** True if the name is that of a model that shows all its output. A name for which neither is true says nothing about its model. */
export function isKnownToShow(model: string): boolean {
  return showing.test(model) && !hidesReasoning(model);
}

/** True if the body of a call requests reasoning, of which providers show no part, or a summary. */
export function requestsReasoning(body: Fields): boolean {
  const { thinking, reasoning, reasoning_effort: effort } = body;
  return (
    (thinking != null && fieldsOf(thinking).type !== 'disabled') ||
    (reasoning != null && fieldsOf(reasoning).effort !== 'none') ||
    (effort != null && effort !== 'none')
  );
}
