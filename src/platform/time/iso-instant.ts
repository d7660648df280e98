/** Formats instants as ISO 8601. Results are cached, because formatting is expensive and most calls have one of a few recent instants. */
const recentMax = 100;
const recent = new Map<number, string>();

export function isoInstant(atMs: number): string {
  const cached = recent.get(atMs);
  if (cached !== undefined) {
    return cached;
  }
  if (recent.size >= recentMax) {
    recent.clear();
  }
  const text = new Date(atMs).toISOString();
  recent.set(atMs, text);
  return text;
}
