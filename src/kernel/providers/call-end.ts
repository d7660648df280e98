/** The usage with which a call is settled, whatever has happened to its response. */
import {
  addUsage,
  type CallUsage,
  countsOutput,
  noUsage,
  type RunUsageFields,
  runUsageOf,
  type ServerTools,
} from './call-usage.ts';
import { withServerTools } from './server-tools.ts';

/** Marks that a settlement sets on the run of a call. */
export type UsageMark = 'truncated' | 'usage_estimated';

export interface CallOutcome {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  /** The usage that the provider reported for the response; undefined if it reported none. */
  readonly usage: CallUsage | undefined;
  /** True if `usage` is that of the whole response. */
  readonly isFinal: boolean;
  /** Calls of tools that were seen in a response without final usage. */
  readonly serverTools?: ServerTools;
  /** All calls of tools of the provider that were seen, by unit. */
  readonly toolCalls?: ServerTools;
  /**
   * Upper bound of the output tokens that were received: their bytes, or a tighter bound. Infinite if the provider may have
   * generated any number.
   */
  readonly outputBound: number;
  /** Bytes of the received output, or a tighter bound of its tokens. Never infinite, unlike `outputBound`. */
  readonly receivedBytes?: number;
  /** True if the provider has accepted the call, so that it may charge for it. */
  readonly isAccepted: boolean;
  readonly isTruncated?: boolean;
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
  /** The model that the response names, if it names one. */
  readonly servedModel?: string | undefined;
}

/** Upper bounds of what may be charged as input. */
export type InputBound = Pick<CallUsage, 'inputTokens' | 'cacheWriteTokens' | 'cacheWrite1hTokens'>;

export interface CallBounds extends Partial<Omit<InputBound, 'inputTokens'>> {
  readonly inputTokens: number;
  /** True if the input grows during the call: results of tools that the provider runs become a part of it. */
  readonly inputGrows?: boolean;
  /** Calls of tools that the provider charges for in any case, once it has accepted the call. */
  readonly serverTools?: ServerTools;
  /** Returns what is charged for tools, given the reported usage. */
  chargedTools?(usage: CallUsage): Pick<CallUsage, 'serverTools' | 'toolModels'>;
  /** The maximum in the body of the call. */
  readonly maxOutputTokens: number;
  /** The output that the hold covers, if that is less than the maximum. */
  readonly heldOutputTokens?: number;
  /** The most that can have been generated in the time of the call, if that is known. */
  readonly generatedOutputTokens?: number | undefined;
  /** The most that can have been generated and not sent since the last output was received, if that is known. */
  readonly unsentOutputTokens?: number | undefined;
  /** Output that no response shows: predicted text that the answer does not contain. */
  readonly unseenOutputTokens?: number;
}

export interface SettledUsage {
  /** The usage of all attempts. */
  readonly usage: CallUsage;
  readonly fields: RunUsageFields;
  /** Set if the call was charged for several attempts: each is priced by its own size. */
  readonly attempts: readonly RunUsageFields[] | undefined;
  /** Set if the call cost nothing: neither input nor output was charged. */
  readonly isFree: boolean;
  readonly marks: readonly UsageMark[];
}

/** Usage of attempts before the response. */
export interface DiscardedUsage {
  readonly attempts: readonly CallUsage[];
  /** True if it contains upper bounds of attempts without a response. */
  readonly isEstimated: boolean;
}

/** Tokens that a provider may have generated and that were not received when the connection was closed. */
export const inFlightTokens = 512;

/**
 * The highest average number of bytes per token that a text can have. If the received output has more bytes than its maximum
 * allows, the provider has ignored the maximum.
 */
const bytesPerTokenMax = 8;

export function settledUsage(
  outcome: CallOutcome,
  bounds: CallBounds,
  discarded: DiscardedUsage,
): SettledUsage {
  const marks: UsageMark[] = outcome.isTruncated === true ? ['truncated'] : [];
  const own = withTools(ownUsage(outcome, bounds), bounds);
  if (own.isEstimated || discarded.isEstimated) {
    marks.push('usage_estimated');
  }
  const attempts = own.usage === noUsage ? discarded.attempts : [...discarded.attempts, own.usage];
  const usage = attempts.length === 0 ? noUsage : attempts.reduce(addUsage);
  return {
    usage,
    fields: runUsageOf(usage),
    attempts: attempts.length > 1 ? attempts.map(runUsageOf) : undefined,
    isFree:
      !usage.statedNanos &&
      usage.inputTokens === 0 &&
      usage.outputTokens === 0 &&
      Object.keys(usage.serverTools).length === 0 &&
      usage.toolModels.length === 0,
    marks,
  };
}

interface OwnUsage {
  readonly usage: CallUsage;
  readonly isEstimated: boolean;
}

function withTools(own: OwnUsage, { chargedTools }: CallBounds): OwnUsage {
  const { usage } = own;
  const { serverTools, toolModels } = chargedTools?.(usage) ?? usage;
  const isSame =
    Object.keys(serverTools).length === 0 &&
    Object.keys(usage.serverTools).length === 0 &&
    toolModels === usage.toolModels;
  return isSame ? own : { ...own, usage: { ...usage, serverTools, toolModels } };
}

function ownUsage(
  { usage, isFinal, outputBound, receivedBytes = 0, isAccepted, serverTools: seen = {} }: CallOutcome,
  bounds: CallBounds,
): OwnUsage {
  const { serverTools: held = {} } = bounds;
  // A usage without output does not count the output that was received.
  if (usage !== undefined && isFinal && (receivedBytes === 0 || countsOutput(usage))) {
    return { usage: withServerTools(usage, held), isEstimated: false };
  }
  if (!isAccepted) {
    return { usage: usage ?? noUsage, isEstimated: false };
  }
  const { inputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, inputGrows = false } = bounds;
  const shown = Math.max(
    outputOf(outputBound, receivedBytes, bounds),
    Math.ceil(receivedBytes / bytesPerTokenMax),
  );
  const received = shown + (bounds.unseenOutputTokens ?? 0);
  // Some providers report no input before the end of a stream.
  const reported =
    usage === undefined || usage.inputTokens === 0
      ? { ...(usage ?? noUsage), inputTokens, cacheWriteTokens, cacheWrite1hTokens }
      : usage;
  const known = withServerTools(withServerTools(reported, held), seen);
  // What was received may all be that of the model that answers.
  const ofOthers = known.others.reduce((sum, one) => sum + one.outputTokens, 0);
  return {
    usage: {
      ...known,
      // That of a part of the response.
      statedNanos: null,
      inputTokens: inputGrows ? Math.max(known.inputTokens, inputTokens) : known.inputTokens,
      outputTokens: Math.max(known.outputTokens, ofOthers + received),
    },
    isEstimated: true,
  };
}

/**
 * Returns the bound of the output, including tokens in flight. While the hold covers the received output, usual tokens in flight are
 * charged up to the hold at most; a provider that has sent nothing for longer may have generated more. The time of the call bounds the
 * output that was not seen. Received output is always charged in full.
 */
function outputOf(
  outputBound: number,
  received: number,
  {
    maxOutputTokens,
    heldOutputTokens = maxOutputTokens,
    generatedOutputTokens: generated,
    unsentOutputTokens = 0,
  }: CallBounds,
): number {
  const bound = Math.min(maxOutputTokens, outputBound + Math.max(inFlightTokens, unsentOutputTokens));
  if (generated !== undefined) {
    return Math.min(bound, Math.max(generated, Math.ceil(received)));
  }
  return outputBound <= heldOutputTokens && unsentOutputTokens <= inFlightTokens
    ? Math.min(bound, heldOutputTokens)
    : bound;
}
