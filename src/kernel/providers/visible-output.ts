/**
 * Detects hidden reasoning. Providers charge for reasoning that some models do not show, so the received bytes do not bound the
 * output of these models.
 */
import { type Fields, fieldsOf } from './fields.ts';

/** Models that reason even if the call does not request it. Names of deployments often contain these names: `prod-gpt-5-mini`. */
const hiding = /(?<![a-z0-9])(o\d|gpt-?([5-9]|[12]\d)|codex|gemini-(2\.5|[3-9])|grok-(3-mini|[4-9]))/i;
/** Families whose models show all their output, unless a call requests reasoning. */
const showing =
  /(?<![a-z0-9])(gpt-?[34]|chatgpt-4o|claude|gemini-(1|2\.0)|llama|mi[sx]tral|ministral|codestral|gemma|command-r|nova)/i;

/** Returns true if the name is that of a model that hides its reasoning. */
export function hidesReasoning(model: string): boolean {
  return hiding.test(model);
}

/**
 * Returns true if the name is that of a model that shows all its output. A name that neither function recognizes says nothing about
 * its model.
 */
export function isKnownToShow(model: string): boolean {
  return showing.test(model) && !hidesReasoning(model);
}

/** Returns true if a call requests reasoning. Providers show a summary of it, or nothing. */
export function requestsReasoning(body: Fields): boolean {
  const { thinking, reasoning, reasoning_effort: effort } = body;
  const configs = [body.thinkingConfig, body.thinking_config].filter((config) => config != null);
  const ofBedrock = [body.reasoning_config, body.reasoningConfig].filter((config) => config != null);
  return (
    configs.some((config) => !isThinkingOff(fieldsOf(config))) ||
    ofBedrock.some((config) => fieldsOf(config).type !== 'disabled') ||
    (thinking != null && fieldsOf(thinking).type !== 'disabled') ||
    (reasoning != null && fieldsOf(reasoning).effort !== 'none') ||
    (effort != null && effort !== 'none')
  );
}

/** Gemini does not think with a budget of 0. Of two spellings both must say so. */
function isThinkingOff({ thinkingBudget, thinking_budget: snakeBudget }: Fields): boolean {
  const budgets = [thinkingBudget, snakeBudget].filter((budget) => budget != null);
  return budgets.length > 0 && budgets.every((budget) => budget === 0);
}

export interface CalledModel {
  readonly requestsReasoning: boolean;
  /** True if models reason only if a request says so, as its format has it. */
  readonly reasonsOnRequest: boolean;
  /** Its names in the request and in the price list. */
  readonly names: readonly string[];
  /** True if a name is that in the catalog of the provider, and not that of a deployment. */
  readonly areCatalogNames: boolean;
  /** Undefined if its capabilities are not known. */
  readonly canReason: boolean | undefined;
}

/**
 * True if every output token of a call can be seen in its response. The name in a request is often an alias, or that of a deployment in Azure.
 * It is taken for a model that shows its output only if something says so: its capabilities, the name itself, or the catalog.
 */
export function showsOutput(model: CalledModel): boolean {
  const { names, canReason } = model;
  if (model.requestsReasoning || names.some(hidesReasoning)) {
    return false;
  }
  if (model.reasonsOnRequest) {
    return true;
  }
  return canReason === undefined ? model.areCatalogNames || names.some(isKnownToShow) : !canReason;
}
