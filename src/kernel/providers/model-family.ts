/** Groups models that share a tokenizer into families. */

/** Models of OpenAI with an older tokenizer. */
const isCl100k = /^(gpt-3|gpt-4($|-)|text-embedding)/;
const isO200k = /^(gpt-|chatgpt|o\d|codex)/;

/** Returns the family of a model, whose members share a tokenizer: `o200k`, `cl100k`, `claude`, or the name up to its first number. */
export function familyOf(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  if (isCl100k.test(name)) {
    return 'cl100k';
  }
  if (isO200k.test(name)) {
    return 'o200k';
  }
  return /^(claude|[a-z]+-?\d+)/.exec(name)?.[0] ?? name;
}
