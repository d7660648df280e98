/**
 * What is told after something was done. The word travels in the address of the page that is shown next, so it has to be
 * one of these: a text from elsewhere is never shown.
 */
const outcomes = {
  budget_created: 'The budget was created.',
} as const;

export type Outcome = keyof typeof outcomes;

export function doneText(word: string | null): string | undefined {
  return word !== null && Object.hasOwn(outcomes, word) ? outcomes[word as Outcome] : undefined;
}
