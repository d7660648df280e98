/** The reports that a statement may contain. */

/** Reports of OpenAI whose quantities no run has, with the reason. Their costs are in the costs. */
const uncompared = {
  openai_images: 'Images by size have no counterpart in runs, which count tokens.',
  openai_audio_speeches: 'Runs do not count characters.',
  openai_audio_transcriptions: 'Runs do not count seconds of audio.',
  openai_vector_stores: 'Stored bytes belong to no call.',
  openai_code_interpreter_sessions: 'Sessions are reported without their model.',
  openai_file_searches: 'Searches are reported without their model.',
  openai_web_searches: 'Searches have no tokens of their own.',
  openai_other: 'This version does not know the report.',
} as const;

type UncomparedSource = keyof typeof uncompared;

export type StatementSource =
  | 'openai_costs'
  | 'openai_usage'
  | 'openai_embeddings'
  | 'openai_moderations'
  | 'anthropic_cost'
  | 'anthropic_usage'
  | 'focus'
  | UncomparedSource;

const withTokens: ReadonlySet<string> = new Set([
  'openai_usage',
  'openai_embeddings',
  'openai_moderations',
  'anthropic_usage',
]);

export function countsTokens(source: StatementSource): boolean {
  return withTokens.has(source);
}

export function hasAmounts(source: StatementSource): boolean {
  return source === 'openai_costs' || source === 'anthropic_cost' || source === 'focus';
}

export function isCompared(source: StatementSource): boolean {
  return uncomparedReason(source) === undefined;
}

/** Returns why the quantities of a report are not compared. Undefined: they are. */
export function uncomparedReason(source: string): string | undefined {
  return Object.hasOwn(uncompared, source) ? uncompared[source as UncomparedSource] : undefined;
}
