import type { Hold } from '../holds/hold.ts';

export function byOrg<Item extends { readonly hold: Hold }>(items: Iterable<Item>): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const one of items) {
    const { orgId } = one.hold;
    const group = groups.get(orgId);
    if (group === undefined) {
      groups.set(orgId, [one]);
    } else {
      group.push(one);
    }
  }
  return groups;
}
