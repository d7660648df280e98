/**
 * Input whose tokens cannot be counted. It is refused if the org is set so; otherwise more is held, which the message of a denial
 * explains.
 */
import type { GatewaySettings } from '../capabilities/integration/connections/index.ts';
import { ApiError } from '../contract/api-error.ts';
import type { InputParts } from '../kernel/providers/estimate-input.ts';
import type { UnseenCause, UnseenInput } from '../kernel/providers/input-tally.ts';
import { ExplainedDenial } from './errors/explained-denial.ts';
import { GatewayError } from './errors/gateway-error.ts';

export const unseenInputCode = 'unseen_input';

export interface HeldUnseen {
  /** The unseen member; undefined if an unusual member offers a tool of the provider. */
  readonly unseen: UnseenInput | undefined;
  /** Input tokens of one pass of the model. */
  readonly passTokens: number;
}

const reasons: Readonly<Record<UnseenCause, (path: string) => string>> = {
  tool: (path) => `the provider runs ${path}, whose results become input`,
  reference: (path) => `the content of ${path} is not in the request`,
  media: (path) => `the tokens of ${path} cannot be counted`,
  unknown: (path) => `the gateway does not know what ${path} carries`,
};
const advice: Readonly<Record<UnseenCause, string>> = {
  tool: 'Leave the tool out, allow fewer calls of it',
  reference: 'Send the content in the request',
  media: 'Send text or images instead',
  unknown: 'Leave it out, send its content in a documented form',
};

/** Throws if the org refuses unseen input. Results of provider-run tools are not input of the request, so they are never refused. */
export function requireSeen({ unseenInput }: GatewaySettings, { unseen }: InputParts): void {
  if (unseenInput === 'refuse' && unseen !== undefined && unseen.cause !== 'tool') {
    throw new GatewayError(
      400,
      unseenInputCode,
      `Your organization refuses input that cannot be counted: ${reasonOf(unseen)}. ${advice[unseen.cause]}, ` +
        'or set `unseen_input` to `hold` in the settings of the gateway.',
      { field: unseen.path },
    );
  }
}

function reasonOf({ path, cause }: UnseenInput): string {
  return reasons[cause](`\`${path}\``);
}

/** Returns a text that explains why so much input is held. */
export function explanationOf({ unseen, passTokens }: HeldUnseen, rounds: number): string {
  const tokens = passTokens.toLocaleString('en-US');
  const times =
    rounds === 1 ? '' : ` (${rounds} times, because the provider reads it again after each call of a tool)`;
  const reason = unseen === undefined ? reasons.tool('a tool') : reasonOf(unseen);
  return (
    `The input is held at ${tokens} tokens${times}, because ${reason}. ${advice[unseen?.cause ?? 'tool']}, ` +
    'or set `unseen_input_tokens` in the settings of the gateway.'
  );
}

/** Returns the error of a call whose hold includes unseen input: a denial with an explanation of the large hold. */
export function explained(error: unknown, held: HeldUnseen | undefined, rounds: number): unknown {
  return held !== undefined && isDeniedByAmount(error)
    ? new ExplainedDenial(error, explanationOf(held, rounds))
    : error;
}

/** Returns true for denials that a cheaper call might pass. */
export function isDeniedByAmount(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 402 || error.code === 'quota_exhausted');
}
