/** Matches the model as billed with the model of runs. */

const prefixes = /^(?:(?:models|openai|anthropic|google|mistral)\/|(?:[a-z]{2,6}\.)?anthropic\.)/;
const suffixes = /(?:-v\d+(?::\d+)?|[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest)$/;

/** Returns the name without provider prefix, date and version, in lower case. Names that differ only in these are one model. */
export function matchingName(model: string): string {
  let name = model.trim().toLowerCase().replace(prefixes, '');
  for (let shorter = name.replace(suffixes, ''); shorter !== name; shorter = name.replace(suffixes, '')) {
    name = shorter;
  }
  return name === '' ? model.toLowerCase() : name;
}
