/** Finds lines that are too long to read. Biome wraps code, but not the markup in templates. */

const columnsMax = 160;

export function findLongLines(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const { length } = [...line];
    return length <= columnsMax
      ? []
      : [
          `line ${index + 1}: ${length} columns, at most ${columnsMax}: break the markup between elements, or name a part of it`,
        ];
  });
}
