/** The members of a request that bound its output, under all names that some provider reads. */
import type { CallFormat } from './call-format.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { allFormats } from './formats.ts';

/** Names of the maximum in formats of other providers, and in documented formats other than that of the request. */
const otherMaxNames = [
  ...['max_new_tokens', 'num_predict', 'n_predict', 'max_length', 'max_tokens_to_sample', 'max_gen_len'],
  ...new Set(allFormats.flatMap(({ request }) => request.output?.maxNames ?? [])),
];

const maxNames = new Map(
  allFormats.map((format) => {
    const { output } = format.request;
    return [
      format,
      output === undefined ? [] : [...new Set([...output.maxNames, ...otherMaxNames])],
    ] as const;
  }),
);

/** Returns every name that some provider takes for the maximum of the output, the documented ones first. */
export function maxNamesOf(format: CallFormat): readonly string[] {
  return maxNames.get(format) ?? [];
}

/** Names of the number of alternative answers: that of OpenAI, and those of other providers. */
export const choiceFields: readonly string[] = [
  ...['n', 'best_of', 'candidate_count', 'num_return_sequences', 'num_generations', 'candidateCount'],
];

/** Fields that bound or multiply the output. They have a meaning in the body itself only. */
export const outputFields: ReadonlySet<string> = new Set([...otherMaxNames, ...choiceFields]);

/** The objects of a request that may bound its output. */
export interface OutputSettings {
  /** The path of the documented object, with a dot at its end; empty for the body. */
  readonly path: string;
  readonly objects: readonly { readonly path: string; readonly fields: Fields }[];
  /** The documented object in a second spelling; undefined if there is none. */
  readonly repeated: string | undefined;
}

export function outputSettingsOf({ request: { output } }: CallFormat, body: Fields): OutputSettings {
  const inBody = { path: '', fields: body };
  const [documented] = output?.within ?? [];
  if (output?.within === undefined || documented === undefined) {
    return { path: '', objects: [inBody], repeated: undefined };
  }
  const given = output.within.filter((name) => body[name] != null);
  return {
    path: `${given[0] ?? documented}.`,
    objects: [
      inBody,
      ...[...given, ...output.alsoIn].map((name) => ({ path: `${name}.`, fields: fieldsOf(body[name]) })),
    ],
    repeated: given[1],
  };
}

/** Returns the budget of extended thinking. It is part of the output, so the maximum output must be larger. */
export function thinkingTokensOf({ thinking, reasoning_config: config }: Fields): number {
  const { budget_tokens: budget } = fieldsOf(thinking ?? config);
  return typeof budget === 'number' && budget > 0 ? Math.ceil(budget) : 0;
}
