/**
 * Groups orgs into blocks. Orgs enter a release in blocks of at least the minimum cohort size, and a block is counted
 * as a whole: if one of its orgs leaves, the whole block is excluded until the next week. Every response, for any
 * cohort and at any time of the week, is about whole blocks. So the difference between any number of responses is about
 * whole blocks too, never about fewer orgs than the minimum.
 */

/** Criteria of a cohort; an omitted criterion matches any value. */
export interface Criteria {
  readonly industry: string | null;
  readonly sizeBand: string | null;
}

export interface WaitingOrg extends Criteria {
  readonly orgId: string;
}

export interface Block extends Criteria {
  readonly orgIds: readonly string[];
}

/** From narrowest to widest: orgs that are too few at one level are grouped with less similar orgs at the next. */
const levels: readonly ((candidate: WaitingOrg) => Criteria | undefined)[] = [
  ({ industry, sizeBand }) => (industry === null || sizeBand === null ? undefined : { industry, sizeBand }),
  ({ industry }) => (industry === null ? undefined : { industry, sizeBand: null }),
  ({ sizeBand }) => (sizeBand === null ? undefined : { industry: null, sizeBand }),
  () => ({ industry: null, sizeBand: null }),
];

/**
 * Forms blocks of the orgs that match the criteria. The remaining orgs wait for others: they are not grouped with less
 * similar orgs until a cohort that includes all of them is read.
 */
export function formBlocks(candidates: readonly WaitingOrg[], wanted: Criteria, floor: number): Block[] {
  const blocks: Block[] = [];
  let waiting = candidates.filter((candidate) => meets(candidate, wanted));
  for (const levelOf of levels) {
    const groups = new Map<string, { criteria: Criteria; orgIds: string[] }>();
    for (const candidate of waiting) {
      const criteria = levelOf(candidate);
      if (criteria !== undefined && meets(criteria, wanted)) {
        const key = JSON.stringify([criteria.industry, criteria.sizeBand]);
        const group = groups.get(key) ?? { criteria, orgIds: [] };
        group.orgIds.push(candidate.orgId);
        groups.set(key, group);
      }
    }
    const placed = new Set<string>();
    for (const { criteria, orgIds } of groups.values()) {
      for (const some of cut(orgIds, floor)) {
        blocks.push({ ...criteria, orgIds: some });
        for (const orgId of some) {
          placed.add(orgId);
        }
      }
    }
    waiting = waiting.filter(({ orgId }) => !placed.has(orgId));
  }
  return blocks;
}

/** Splits into as many parts of at least the minimum size as possible, all about equally large. */
function cut(orgIds: readonly string[], floor: number): string[][] {
  const parts = Math.floor(orgIds.length / floor);
  return Array.from({ length: parts }, (_, part) => orgIds.filter((__, index) => index % parts === part));
}

/** Returns the blocks that match the criteria and whose orgs all contribute. */
export function blocksOf<Some extends Block>(
  blocks: readonly Some[],
  wanted: Criteria,
  contributes: (orgId: string) => boolean,
): Some[] {
  return blocks.filter((block) => meets(block, wanted) && block.orgIds.every(contributes));
}

function meets({ industry, sizeBand }: Criteria, wanted: Criteria): boolean {
  return (
    (wanted.industry === null || wanted.industry === industry) &&
    (wanted.sizeBand === null || wanted.sizeBand === sizeBand)
  );
}
