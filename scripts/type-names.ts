/** Finds names of types that more than one file declares: a reader who searches for such a name finds two things. */

const declaration =
  /^[ \t]*(?:export )?(?:declare )?(?:abstract )?(?:interface|class|type(?= \w+(?:<.*)? =))[ ]+([A-Z]\w*)/gm;

/** Returns a line for each type name that several of the given files declare. */
export function findRepeatedTypeNames(texts: ReadonlyMap<string, string>): string[] {
  const filesOf = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    for (const [, name = ''] of text.matchAll(declaration)) {
      filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file));
    }
  }
  return [...filesOf]
    .filter(([, files]) => files.size > 1)
    .map(([name, files]) => `type ${name} is declared in ${[...files].join(', ')}: one name, one type`);
}
