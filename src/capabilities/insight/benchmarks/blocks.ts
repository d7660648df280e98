/**
 * Who is counted together. Orgs enter a release in blocks of at least the floor, and a block stands or falls together:
 * if one of its orgs leaves, all of it is out until the next week. Every answer, of any cohort and at any moment of the
 * week, is about whole blocks. So whatever two answers, or any number of them, are subtracted from each other, what is
 * left is about whole blocks too, and never about fewer orgs than the floor.
 */

/** What a cohort asks for; what it leaves out may be anything. */
export interface Criteria {
  readonly industry: string | null;
  readonly sizeBand: string | null;
}

export interface Candidate extends Criteria {
  readonly orgId: string;
}

export interface Block extends Criteria {
  readonly orgIds: readonly string[];
}

/** From the narrowest: orgs that are too few there are put together with others that are less alike. */
const levels: readonly ((candidate: Candidate) => Criteria | undefined)[] = [
  ({ industry, sizeBand }) => (industry === null || sizeBand === null ? undefined : { industry, sizeBand }),
  ({ industry }) => (industry === null ? undefined : { industry, sizeBand: null }),
  ({ sizeBand }) => (sizeBand === null ? undefined : { industry: null, sizeBand }),
  () => ({ industry: null, sizeBand: null }),
];

/**
 * Of those who meet what is wanted, into blocks that meet it too. Those who are left over wait for others: they are not
 * put together with orgs that are less alike before somebody asks for all of them.
 */
export function formBlocks(candidates: readonly Candidate[], wanted: Criteria, floor: number): Block[] {
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

/** Into as many parts as can have at least the floor, all about as large. */
function cut(orgIds: readonly string[], floor: number): string[][] {
  const parts = Math.floor(orgIds.length / floor);
  return Array.from({ length: parts }, (_, part) => orgIds.filter((__, index) => index % parts === part));
}

/** The blocks that an answer is about: alike in what is asked for, and whole. */
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
