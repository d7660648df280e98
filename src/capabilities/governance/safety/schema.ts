import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, partial } from '../../../platform/http/routes/schemas.ts';
import { patternCharactersMax } from './own-pattern.ts';
import { wordCharactersMax, wordsMax } from './word-list.ts';

export const contentCharactersMax = 1_000_000;

const action = choice(
  ['block', 'flag'],
  '`block` denies the run with `content_safety_blocked`; `flag` marks it.',
);
const ownKinds = ['regex', 'words'] as const;
const kinds = ['built_in', ...ownKinds] as const;
const enabled = Type.Boolean();
const pattern = Type.String({
  minLength: 1,
  maxLength: patternCharactersMax,
  description: 'RE2 syntax, without look-around and back-references. `(?i)` ignores case.',
});
const words = Type.Array(Type.String({ minLength: 1, maxLength: wordCharactersMax }), {
  minItems: 1,
  maxItems: wordsMax,
  description: 'Whole words and phrases; case and the characters between words are ignored.',
});
const threshold = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: 'Number of matches at which the detector fires. Default: 1.',
});

export const CreateDetector = closed({
  name,
  kind: choice(ownKinds, '`regex` requires `pattern`; `words` requires `words`.'),
  pattern: Type.Optional(pattern),
  words: Type.Optional(words),
  threshold: Type.Optional(threshold),
  action,
  enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
});
export type CreateDetector = Static<typeof CreateDetector>;

/** Schema of a change. For a built-in detector, only `enabled`, `action` and `threshold` can be changed. */
export const PatchDetector = partial({ name, pattern, words, threshold, action, enabled });
export type PatchDetector = Static<typeof PatchDetector>;

export const DetectorView = closed({
  id: Type.String({ description: 'For built-in detectors a word, such as `credit_card`.' }),
  name: Type.String({
    description: 'The name used in errors and in `flagged_by`. For built-in detectors, the id.',
  }),
  kind: choice(kinds),
  description: nullable(
    Type.String({ description: 'What a built-in detector finds. Null for custom detectors.' }),
  ),
  enabled,
  action,
  threshold: Type.Integer(),
  pattern: nullable(Type.String()),
  words: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  looks_at_characters: Type.Integer({
    description: 'Number of characters that are checked, from the start; fewer for complex patterns.',
  }),
  created_at: nullable(
    Type.String({ format: 'date-time', description: 'Null: a built-in detector that was never changed.' }),
  ),
  updated_at: nullable(Type.String({ format: 'date-time' })),
});
export type DetectorView = Static<typeof DetectorView>;

export const detectorSorts = { name: 'text' } as const;
export const DetectorFilters = listParameters(detectorSorts, {
  kind: Type.Optional(choice(kinds)),
  enabled: Type.Optional(enabled),
  action: Type.Optional(action),
});
export type DetectorFilters = Static<typeof DetectorFilters>;

export const TestContent = closed({
  content: Type.String({ maxLength: contentCharactersMax }),
  detectors: Type.Optional(
    Type.Array(id, { minItems: 1, maxItems: 100, description: 'Only these, by id. Default: all.' }),
  ),
});
export type TestContent = Static<typeof TestContent>;

export const TestResult = closed({
  verdict: choice(['pass', 'flag', 'block'], 'The result for a run with this content.'),
  content_characters: Type.Integer(),
  findings: Type.Array(
    closed({
      detector: Type.String(),
      detector_id: Type.String(),
      enabled: Type.Boolean({ description: 'Disabled detectors do not affect the verdict.' }),
      action,
      fires: Type.Boolean({ description: 'True if the number of matches reaches the threshold.' }),
      matches: Type.Array(
        closed({
          start: Type.Integer({ description: 'In UTF-16 code units, from 0.' }),
          end: Type.Integer({ description: 'Exclusive.' }),
          sample: Type.String(),
        }),
        { description: 'The first matches, in order; at least as many as the threshold if it fires.' },
      ),
    }),
    { description: 'The detectors that found something.' },
  ),
});
export type TestResult = Static<typeof TestResult>;
