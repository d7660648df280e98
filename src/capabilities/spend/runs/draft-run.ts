/**
 * Drafts the posting of a new run in stages: its fields are validated, its cost is computed, its scope is determined, and its
 * posting is built. The key's values and the price come from earlier stages (`draft-runs.ts`).
 */
import type { FieldError } from '../../../contract/errors.ts';
import type { Posting } from '../../../ledger/posting.ts';
import type { Ids } from '../../../platform/ids.ts';
import { finishedPosting, type StagedRun, startedPosting } from './build-posting.ts';
import type { DraftContext, EndOfCall } from './draft-context.ts';
import { asDecided, type RunPrice } from './find-price.ts';
import { isFieldError, priceRun, type TriedUsage, withStated, withStatedKept } from './price-run.ts';
import type { RunDraft } from './queries.ts';
import { countsOf } from './run-usage.ts';
import type { CreateRun } from './schema.ts';
import { placeRun } from './scope-run.ts';
import { validateRun } from './validate-run.ts';

/** A run that cannot be posted. */
export interface InvalidRun {
  readonly fieldErrors: readonly FieldError[];
  /** Set if the run contradicts a locked value of the calling key in this field. */
  readonly lockedField?: string;
}

export type Drafted = Posting<RunDraft> | InvalidRun;

export function isInvalid(drafted: Drafted): drafted is InvalidRun {
  return 'fieldErrors' in drafted;
}

/** Drafts a run. `price` is the price in force; undefined if the model has none, or if the body needs none (`needsPrice`). */
export function draftRun(
  stated: CreateRun & TriedUsage,
  context: DraftContext,
  price: RunPrice | undefined,
  end: EndOfCall | undefined,
): Drafted {
  const sent = withStated(asDecided(stated, price), stated.model);
  const startedAt = startOf(sent, context);
  const fieldErrors = validateRun(sent, price, startedAt, context);
  const body = withStatedKept(sent, price);
  const counts = countsOf(body);
  const cost = priceRun(body, counts, price);
  if (isFieldError(cost) || fieldErrors.length > 0) {
    return { fieldErrors: isFieldError(cost) ? [...fieldErrors, cost] : fieldErrors };
  }
  const run: StagedRun<CreateRun> = {
    body,
    contentDigest: stated.external_id === undefined ? null : context.contentDigest(stated),
    counts,
    cost,
    place: placeRun(body, startedAt, context),
    startedAt,
    end,
  };
  return body.status === 'running' ? startedPosting(run, context) : finishedPosting(run, context);
}

/** Drafts a past run with valid fields and a known cost. It skips the stages before the scope. */
export function draftRecorded(
  ids: Ids,
  keyId: string,
  body: CreateRun,
  known: Pick<StagedRun<CreateRun>, 'cost' | 'counts' | 'startedAt'>,
): Posting<RunDraft> {
  const { startedAt: now } = known;
  const context = { ids, keyId, now, record: true, chained: false, parentOf: none, failOpenAtMs: none };
  const place = placeRun(body, now, context);
  return finishedPosting({ ...known, body, contentDigest: null, place, end: undefined }, context);
}

const none = () => undefined;

function startOf({ started_at }: CreateRun, { admitted, now }: DraftContext): Date {
  return admitted?.startedAt ?? (started_at === undefined ? now : new Date(started_at));
}
