/** Stores the content of runs: encrypted, and only if the org's retention policy keeps content. */
import type { Posting } from '../../../ledger/posting.ts';
import type { RunDraft } from './queries.ts';

/** The content of each posting of a group; undefined for runs without content. */
export type PostingContents = readonly (string | undefined)[];

export interface ContentStorage {
  areKept(orgId: string): boolean | Promise<boolean>;
  encrypt(orgId: string, runId: string, content: string): string;
  decrypt(orgId: string, runId: string, encrypted: string): string;
}

/** Returns true if a posting has content. Most requests have none, and skip the steps for content. */
export function hasContent(contents: PostingContents | undefined): contents is PostingContents {
  return contents?.some((content) => content !== undefined) === true;
}

/** Returns the postings with their encrypted content. They are unchanged if the org does not keep content. */
export async function attachContents(
  storage: ContentStorage,
  orgId: string,
  postings: readonly Posting<RunDraft>[],
  contents: PostingContents,
): Promise<readonly Posting<RunDraft>[]> {
  if (!(await storage.areKept(orgId))) {
    return postings;
  }
  return postings.map((posting, index) => {
    const content = contents[index];
    if (content === undefined) {
      return posting;
    }
    // The encryption is bound to the id of the run.
    const runUnder = (runId: string): RunDraft => ({
      ...posting.run,
      content: storage.encrypt(orgId, runId, content),
    });
    return { ...posting, run: runUnder(posting.runId), ...(posting.decisionId !== null && { runUnder }) };
  });
}
