import { type Static, Type } from 'typebox';
import { choice, closed, nullable, partial, timestamp, usd } from '../../../platform/http/routes/schemas.ts';

export const unseenInputModes = ['hold', 'refuse'] as const;
export const unknownTokenizerModes = ['estimate', 'bytes'] as const;
export const holdModes = ['worst_case', 'expected'] as const;
export const onLimitModes = ['refuse', 'fit', 'fallback'] as const;
export const onAbortModes = ['drain', 'close'] as const;

const outputTokens = (description: string) => Type.Integer({ minimum: 1, maximum: 1_000_000, description });

const fields = {
  default_max_output_tokens: outputTokens('Maximum output of a call that sets none. Default 8192.'),
  min_output_tokens: outputTokens(
    'Minimum output to which `on_limit` may lower the maximum of a call. At most `default_max_output_tokens`. Default 256.',
  ),
  unseen_input: choice(
    unseenInputModes,
    'What to do with a call that has input whose tokens cannot be counted: earlier responses, file ids, audio, and members that the ' +
      'gateway does not know. `hold`, the default: hold `unseen_input_tokens`. `refuse`: 400 `unseen_input`. Results of tools that ' +
      'the provider runs are always held.',
  ),
  unseen_input_tokens: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 10_000_000,
      description:
        'Input tokens to hold for what cannot be counted, such as `previous_response_id`, file ids, and results of tools that the ' +
        'provider runs. Null, the default: the context of the model.',
    }),
  ),
  unknown_tokenizer: choice(
    unknownTokenizerModes,
    'How to hold the text of models whose tokenizer the gateway does not have, which are all but the current ones of OpenAI. ' +
      '`estimate`, the default: an estimate, which hostile text can exceed up to three times. `bytes`: one token for ' +
      'each byte, which no text exceeds: four to five times the tokens of prose.',
  ),
  max_tool_calls: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    description:
      'Calls of tools that the provider runs, to hold for a request that sets no maximum (`max_tool_calls`, `max_uses`). Written ' +
      'into requests of the Responses API. Default 10.',
  }),
  unpriced_tool_call_usd: nullable({
    ...usd,
    description:
      'What a call of a tool that the provider runs and that has no price may cost: held, and charged for each call. Null, the ' +
      'default: a request that offers such a tool is refused.',
  }),
  hold: choice(
    holdModes,
    '`worst_case`, the default: the highest possible cost of the call. `expected`: the usual cost of the calls of this key, ' +
      'increased while the response arrives.',
  ),
  on_limit: choice(
    onLimitModes,
    'What to do if a limit does not allow the call. `refuse`, the default: deny it. `fit`: lower its maximum output. `fallback`: ' +
      'use a cheaper model.',
  ),
  on_abort: choice(
    onAbortModes,
    'What to do if the client leaves. `drain`, the default: read the response to its end, for its usage. `close`: close the ' +
      'connection to the provider, and estimate the usage from what was received.',
  ),
  customer_from_body: Type.Boolean({
    description:
      'Whether the end user in the body of a call (`user`, `safety_identifier`, `metadata.user_id`) is its customer. Default false.',
  }),
};

export const PutGateway = partial(fields);
export type PutGateway = Static<typeof PutGateway>;

export const GatewayView = closed({
  ...fields,
  updated_at: nullable(timestamp),
});
export type GatewayView = Static<typeof GatewayView>;
