/** Instants as text. Formatting one is dear, and what happens at the same time tells the same few milliseconds. */
const recentMax = 100;
const recent = new Map<number, string>();

export function isoInstant(atMs: number): string {
  const there = recent.get(atMs);
  if (there !== undefined) {
    return there;
  }
  if (recent.size >= recentMax) {
    recent.clear();
  }
  const text = new Date(atMs).toISOString();
  recent.set(atMs, text);
  return text;
}
