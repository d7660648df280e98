/**
 * Estimates the input tokens of a request as an upper bound, without a tokenizer: text by the score of its reader, images by the
 * published formulas, and unseen content by the size of the model's context or the org's setting.
 */
import type { CallFormat } from './call-format.ts';
import type { Fields } from './fields.ts';
import { readRequest } from './input-reader.ts';
import { type AmbiguousMember, type InputReaders, InputTally, type UnseenInput } from './input-tally.ts';
import { familyOf } from './model-family.ts';

export type { InputReaders, TextScore } from './input-tally.ts';

export interface InputParts {
  readonly textBytes: number;
  readonly textScore: number;
  /** 0 if the score is that of the model's own tokenizer. */
  readonly textFloor: number;
  /** Script and density of the text: ratios are learned for each class, because tokenizers differ in them. */
  readonly textClass: string;
  readonly imageTokens: number;
  /** Messages, content parts and tools: each adds a few tokens that separate it from the next. */
  readonly parts: number;
  /** Tokens that the provider adds to a request with tools. */
  readonly toolFrameTokens: number;
  /** True if the request may have content that cannot be seen: an earlier response, a file, or a member that is not known. */
  readonly hasUnseen: boolean;
  /** The first unseen member that is not a tool of the provider; the first tool if there is no other. */
  readonly unseen: UnseenInput | undefined;
  readonly ambiguous: AmbiguousMember | undefined;
}

/** Tokens that providers add around each message, part and tool, and once per request. */
const tokensPerPart = 12;
const tokensOfFrame = 32;
/** Anthropic's system prompt for tools alone has about 350 tokens; 700 with tools that the provider runs. */
const tokensOfToolFrame = 800;
const tokensOfOpenAiToolFrame = 64;

/** Returns the parts of a request that become input tokens. */
export function inputPartsOf(
  format: CallFormat,
  body: Fields,
  model: string,
  readers: InputReaders,
): InputParts {
  const tally = new InputTally(format.request, readers);
  readRequest(format, body, model, tally);
  const isOwnTokenizer = familyOf(model) === 'o200k';
  return {
    textBytes: tally.textBytes,
    textScore: tally.textScore,
    textFloor: isOwnTokenizer ? 0 : tally.textFloor,
    textClass: textClassOf(tally),
    imageTokens: tally.imageTokens,
    parts: tally.parts,
    toolFrameTokens: isOwnTokenizer ? tokensOfOpenAiToolFrame : tokensOfToolFrame,
    hasUnseen: tally.unseen !== undefined,
    unseen: tally.unseen,
    ambiguous: tally.ambiguous,
  };
}

/** The share of bytes beyond ASCII above which a text counts as one of another script. */
const otherScriptShare = 0.05;
/** Tokens per byte: prose is below the first, code and JSON below the second, random text above. */
const densities = [0.25, 0.4];

function textClassOf({ textBytes, textLength, textScore: score }: InputTally): string {
  const script = textBytes - textLength > textBytes * otherScriptShare ? 'other' : 'ascii';
  const density = score / Math.max(1, textBytes);
  return `${script}-${densities.filter((bound) => density >= bound).length}`;
}

export interface EstimateRules {
  /** Tokens per point of the text score, for the family of the model. */
  readonly ratio: number;
  /** Input tokens assumed for content that cannot be seen. */
  readonly unseenTokens: number;
  /** The context of the model; undefined if it is not known. */
  readonly contextTokens: number | undefined;
  /**
   * True if the provider accepts no input beyond this context. False for deployments and compatible providers, whose models may
   * have a larger context than the catalog knows, and for embeddings, where each input has its own context.
   */
  readonly isContextEnforced: boolean;
  readonly hasTools: boolean;
}

export function estimatedInputTokens(input: InputParts, rules: EstimateRules): number {
  const { contextTokens = Number.POSITIVE_INFINITY, unseenTokens } = rules;
  const seen = seenInputTokens(input, rules);
  return input.hasUnseen ? Math.max(seen, Math.min(seen + unseenTokens, contextTokens)) : seen;
}

/** Returns the estimate without unseen content. */
export function seenInputTokens(input: InputParts, rules: EstimateRules): number {
  const scored = Math.max(Math.ceil(input.textScore * rules.ratio), input.textFloor);
  const text = Math.min(input.textBytes, scored);
  const frame = tokensOfFrame + (rules.hasTools ? input.toolFrameTokens : 0) + input.parts * tokensPerPart;
  const counted = text + frame + input.imageTokens;
  return rules.isContextEnforced
    ? Math.min(counted, rules.contextTokens ?? Number.POSITIVE_INFINITY)
    : counted;
}
