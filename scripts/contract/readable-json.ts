/** Formats JSON for readable diffs: a value that fits on a line is on one line. */

const lineWidth = 120;

export function readableJson(value: unknown, indent = ''): string {
  const room = lineWidth - indent.length;
  if (typeof value !== 'object' || value === null || lengthUpTo(room, value) <= room) {
    return JSON.stringify(value);
  }
  const inner = `${indent} `;
  const lines = Array.isArray(value)
    ? value.map((item) => inner + readableJson(item, inner))
    : Object.entries(value).map(
        ([name, item]) => `${inner}${JSON.stringify(name)}: ${readableJson(item, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

/** Returns the length of the value on one line, or any larger number than `max` if it is longer: stops there. */
function lengthUpTo(max: number, value: unknown): number {
  if (typeof value !== 'object' || value === null) {
    return JSON.stringify(value).length;
  }
  // Brackets, and a comma after each item but the last.
  let length = 1;
  const items = Array.isArray(value) ? value : Object.values(value);
  const names = Array.isArray(value) ? [] : Object.keys(value);
  for (const [index, item] of items.entries()) {
    const name = names[index];
    length += 1 + (name === undefined ? 0 : JSON.stringify(name).length + 1);
    length += lengthUpTo(max - length, item);
    if (length > max) {
      return length;
    }
  }
  return items.length === 0 ? 2 : length;
}
