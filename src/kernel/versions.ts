/** Versions of the form `major.minor.patch`, compared by number. */

export function isVersion(text: string): boolean {
  return /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(text);
}

export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version.split('.').map(Number), than.split('.').map(Number)];
  const differing = a.findIndex((part, index) => part !== b[index]);
  return differing !== -1 && (a[differing] ?? 0) > (b[differing] ?? 0);
}
