/** Returns a count with its noun: `1 open hold`, `2 open holds`. */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
