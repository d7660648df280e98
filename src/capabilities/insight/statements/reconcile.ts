/**
 * Posts the differences of a statement, so that the ledger equals it: one backfilled run per row and cause, whose cost is the
 * difference and may be negative. The `external_id` of a run names its statement, row and cause, so it is posted once, however
 * often and by however many processes the reconciliation is started.
 */
import { hash } from 'node:crypto';
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import { type CostParts, noParts } from '../../../kernel/cost-parts.ts';
import { maxNanos } from '../../../kernel/money.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { Outcome, Posting } from '../../../ledger/posting.ts';
import { type Database, isOutOfRange } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { draftRecorded, type RunDraft } from '../../spend/runs/index.ts';
import { type ComparedRow, compareStatement } from './comparison.ts';
import { correctionPrefix, correctionTime } from './correction.ts';
import type { Cause } from './difference.ts';
import { addReconciled, type StatementRow } from './queries.ts';
import { hasTokens, type LineTokens, noTokens, tokenKinds } from './statement-line.ts';
import { requireStatement } from './statements.ts';

export interface ReconcileDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly ledger: Pick<Ledger<RunDraft>, 'post'>;
}

export interface ReconcileCall {
  readonly keyId: string;
  readonly now: Date;
}

const runsPerTransaction = 200;

/** Thrown in a transaction to abort it: another reconciliation has posted runs since the comparison. */
class ComparisonOutdated extends Error {}

/**
 * Posts what the ledger lacks now: if an earlier call was interrupted, the rest. If another call posts meanwhile, the statement is
 * compared again, so that each posting takes all earlier ones into account.
 */
export async function postDifferences(
  deps: ReconcileDependencies,
  statement: StatementRow,
  call: ReconcileCall,
): Promise<void> {
  let current = statement;
  while (current.reconciled_at === null) {
    try {
      return await postCompared(deps, current, call);
    } catch (error) {
      if (!(error instanceof ComparisonOutdated)) {
        throw error;
      }
      current = await requireStatement(deps.db, statement.org_id, statement.id);
    }
  }
}

async function postCompared(
  { db, ids, ledger }: ReconcileDependencies,
  statement: StatementRow,
  call: ReconcileCall,
): Promise<void> {
  const { rows, otherProviders } = await compareStatement(db, statement);
  requireProvider(statement, otherProviders);
  const postings = rows.flatMap((row) =>
    postedCauses(row.causes).map((cause) => draftPosting(ids, statement, call, row, cause)),
  );
  if (postings.some(({ amounts }) => amounts.usd > maxNanos || amounts.usd < -maxNanos)) {
    throw tooLarge();
  }
  let { reconciled_runs } = statement;
  for (let at = 0; at < postings.length; at += runsPerTransaction) {
    const result = await ledger
      .post({
        orgId: statement.org_id,
        postings: postings.slice(at, at + runsPerTransaction),
        async storeResponse(tx, outcomes) {
          const { runs, nanos } = newRuns(outcomes);
          if (!(await addReconciled(tx, { ...statement, reconciled_runs }, runs, nanos))) {
            throw new ComparisonOutdated();
          }
        },
      })
      .catch((error: unknown) => {
        throw isOutOfRange(error) ? tooLarge() : error;
      });
    if (result.kind !== 'done') {
      // Backfilled runs pass no admission check, and their external ids carry no digest to conflict with.
      throw new Error(`a reconciliation was rejected: ${result.kind}`);
    }
    reconciled_runs += newRuns(result.outcomes).runs;
  }
}

function tooLarge(): ApiError {
  return apiError(
    'conflict',
    'A difference exceeds the largest amount that can be posted. Correct the runs first.',
  );
}

/**
 * Throws if the provider of a FOCUS file, which is free text, is probably another name of the provider of the runs: the whole bill
 * would be posted a second time.
 */
function requireProvider({ provider, sources }: StatementRow, otherProviders: readonly string[]): void {
  if (sources.includes('focus') && otherProviders.length > 0) {
    throw apiError(
      'conflict',
      `No run of the period has the provider ${provider}; runs of the billed models have ${otherProviders.join(', ')}. ` +
        'Delete the statement, and upload it with the `ProviderName` of your runs.',
    );
  }
}

function newRuns(outcomes: readonly Outcome<RunDraft>[]): { runs: number; nanos: bigint } {
  const posted = outcomes.filter(({ kind }) => kind === 'posted');
  return {
    runs: posted.length,
    nanos: posted.reduce((sum, { posting }) => sum + posting.amounts.usd, 0n),
  };
}

/**
 * Returns the causes to be posted. Days in different time zones are not a difference of the ledger, whose days are in UTC.
 * Rounding is added to another cause, if there is one.
 */
function postedCauses(causes: readonly Cause[]): readonly Cause[] {
  const posted = causes.filter(({ cause }) => cause !== 'time_zone');
  const rounding = posted.find(({ cause }) => cause === 'rounding');
  const [first] = posted;
  const merged =
    rounding === undefined || first === undefined || first === rounding
      ? posted
      : posted
          .filter((one) => one !== rounding)
          .map((one) => (one === first ? { ...one, usd: one.usd + rounding.usd } : one));
  return merged.filter(({ usd, tokens }) => usd !== 0n || hasTokens(postedTokens(tokens)));
}

/** A run cannot have fewer tokens than none. */
function postedTokens(tokens: LineTokens): LineTokens {
  return tokenKinds.some((kind) => tokens[kind] < 0n) ? noTokens : tokens;
}

function draftPosting(
  ids: Ids,
  statement: StatementRow,
  { keyId, now }: ReconcileCall,
  row: ComparedRow,
  { cause, usd, tokens, kind, keyIds }: Cause,
): Posting<RunDraft> {
  const model = row.recordedModel ?? row.model;
  const externalId = `${correctionPrefix}${statement.id}:${hash('sha256', JSON.stringify([row.key, cause, keyIds, ...(kind === '' ? [] : [kind])]))}`;
  const counted = postedTokens(tokens);
  const body = {
    external_id: externalId,
    model,
    provider: statement.provider,
    ...projectScope(statement, row.project),
    metadata: {
      statement_id: statement.id,
      cause,
      ...(kind !== '' && { kind }),
      provider_key_ids: [...keyIds],
      billed_model: row.model,
    },
  };
  const posting = draftRecorded(ids, keyId, body, {
    // The statement has the cost; no price was used.
    cost: { usd, parts: partsOf(kind, usd), cacheSavings: 0n, asHeld: undefined, price: undefined },
    counts: {
      inputTokens: counted.uncached_input + counted.cached_input + counted.cache_write,
      cachedInputTokens: counted.cached_input,
      cacheWriteTokens: counted.cache_write,
      outputTokens: counted.output,
    },
    startedAt: correctionTime(row.day, now),
  });
  return { ...posting, note: `statement ${statement.id}: ${cause}` };
}

const partCodes = { uncached_input: 'i', cached_input: 'c', cache_write: 'w', output: 'o' } as const;

/** A difference in one rate belongs to that kind of usage; others are unsplit. */
function partsOf(kind: Cause['kind'], nanos: bigint): CostParts {
  return kind === '' ? noParts : [{ code: partCodes[kind], quantity: 0n, nanos }];
}

const tagPrefix = 'tag:';

/** The project goes into the dimension that projects are compared by. */
function projectScope({ project_dimension: name }: StatementRow, project: string) {
  if (name === null || project === '') {
    return {};
  }
  return name.startsWith(tagPrefix)
    ? { tags: { [name.slice(tagPrefix.length)]: project } }
    : { [name]: project };
}
