import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, partial } from '../../../platform/http/routes/schemas.ts';
import { patternCharactersMax } from './own-pattern.ts';
import { wordCharactersMax, wordsMax } from './word-list.ts';

export const contentCharactersMax = 1_000_000;

const action = choice(
  ['block', 'flag'],
  '`block` refuses the run with `content_safety_blocked`; `flag` marks it.',
);
const ownKinds = ['regex', 'words'] as const;
const kinds = ['built_in', ...ownKinds] as const;
const enabled = Type.Boolean();
const pattern = Type.String({
  minLength: 1,
  maxLength: patternCharactersMax,
  description: 'In the syntax of RE2, so without look-around and back-references. `(?i)` ignores capitals.',
});
const words = Type.Array(Type.String({ minLength: 1, maxLength: wordCharactersMax }), {
  minItems: 1,
  maxItems: wordsMax,
  description: 'Whole words and phrases; capitals, and what stands between words, make no difference.',
});
const threshold = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: 'How many matches make it fire. Default: 1.',
});

export const CreateDetector = closed({
  name,
  kind: choice(ownKinds, '`regex` needs a `pattern`, `words` needs `words`.'),
  pattern: Type.Optional(pattern),
  words: Type.Optional(words),
  threshold: Type.Optional(threshold),
  action,
  enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
});
export type CreateDetector = Static<typeof CreateDetector>;

/** Of a built-in one only `enabled`, `action` and `threshold`. */
export const PatchDetector = partial({ name, pattern, words, threshold, action, enabled });
export type PatchDetector = Static<typeof PatchDetector>;

export const DetectorView = closed({
  id: Type.String({ description: 'Of a built-in one a word, such as `credit_card`.' }),
  name: Type.String({ description: 'What refusals and marks call it. Of a built-in one its id.' }),
  kind: choice(kinds),
  description: nullable(Type.String({ description: 'What a built-in one finds.' })),
  enabled,
  action,
  threshold: Type.Integer(),
  pattern: nullable(Type.String()),
  words: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  looks_at_characters: Type.Integer({
    description: 'How much of a content it looks at, from its beginning; less for a pattern of many parts.',
  }),
  created_at: nullable(Type.String({ format: 'date-time', description: 'Null: never changed.' })),
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
  verdict: choice(['pass', 'flag', 'block'], 'What would become of a run with this content.'),
  content_characters: Type.Integer(),
  findings: Type.Array(
    closed({
      detector: Type.String(),
      detector_id: Type.String(),
      enabled: Type.Boolean({ description: 'One that is not enabled has no part in the verdict.' }),
      action,
      fires: Type.Boolean({ description: 'As many matches as its threshold.' }),
      matches: Type.Array(
        closed({
          start: Type.Integer({ description: 'In UTF-16 code units, from 0.' }),
          end: Type.Integer({ description: 'Behind the last.' }),
          sample: Type.String(),
        }),
        { description: 'The first of them, in order; at least as many as the threshold where it fires.' },
      ),
    }),
    { description: 'The detectors that found something.' },
  ),
});
export type TestResult = Static<typeof TestResult>;
