/** A hold: an amount reserved in every applicable limit until it is settled, voided or expired. */
import { inOrder, runDimensions, scopeDimensions } from '../../contract/run-dimensions.ts';
import type { HoldSurface, Reservation, ReservedCounter } from '../../kernel/admission.ts';
import type { Debit } from '../../kernel/credits.ts';
import {
  type Amounts,
  emptyScope,
  type OnUnsettled,
  type Scope,
  type Tags,
  type Unit,
} from '../../kernel/limits.ts';

/** `shares` are the counters in which the hold reserves its amounts. The name is part of the stored format. */
export interface Hold extends Reservation {
  readonly id: string;
  readonly orgId: string;
  /** The run that the hold is for; null if it is not known yet. */
  readonly runId: string | null;
  readonly surface: HoldSurface;
  readonly scope: Scope;
  /** The time of the charge, no matter when the hold is settled. */
  readonly admittedAtMs: number;
  readonly expiresAtMs: number;
  /** The price at admission; null if the model had none, or if the request of a run stated the cost. */
  readonly priceVersion: string | null;
  /** The `Idempotency-Key` of its request. */
  readonly idempotency: HoldKey | null;
  /** Set if the decision was made fail-open, without checking the limits. */
  readonly degraded?: true;
  /** Left out if the rates of the price do not depend on the service, or if the request stated only tokens. */
  readonly service?: HeldService;
  /** Set if the amount is posted when the hold expires unsettled, regardless of the org's setting. */
  readonly postIfUnsettled?: true;
  /** Left out if the amount covers the whole call. */
  readonly goesOn?: UnwatchedCost;
  /** Depth of the run in its chain. Left out for the first run of a chain, and if the depth is not known. */
  readonly depth?: number;
  /** Ids of the last requests that increased the hold, oldest first; see `increase-hold.ts`. */
  readonly increases?: readonly string[];
}

/** The service that the request stated. It prices later increases. A field that was not stated is left out. */
export interface HeldService {
  readonly tier?: string;
  readonly region?: string;
  readonly inputTokens?: number;
}

/**
 * The cost of a call beyond its hold if this service stops during the call: the provider continues until it notices. It is posted when
 * the hold expires unsettled. Amounts are strings, as they are stored.
 */
export interface UnwatchedCost {
  readonly usd: string;
  /** The maximum cost of the whole call. */
  readonly maxUsd: string;
}

/** Returns the amount to post for a hold that expired unsettled. */
export function unsettledUsd({ amounts, goesOn }: Pick<Hold, 'amounts' | 'goesOn'>): bigint {
  if (goesOn === undefined) {
    return amounts.usd;
  }
  const usd = amounts.usd + BigInt(goesOn.usd);
  const max = BigInt(goesOn.maxUsd);
  return amounts.usd > max ? amounts.usd : usd > max ? max : usd;
}

/**
 * Returns the additional fields of the hold of a call that this service makes. The run of the call is created at the settlement.
 * Its id has the number of the hold, so that the run can be named while the call lasts.
 */
export function fieldsOfCall({
  depth,
  goesOn,
  growth,
}: {
  readonly depth: number;
  readonly goesOn?: UnwatchedCost | undefined;
  readonly growth?: Amounts | undefined;
}): Pick<Hold, 'postIfUnsettled' | 'depth' | 'goesOn' | 'growth'> {
  const fields =
    depth > 1 ? ({ postIfUnsettled: true, depth } as const) : ({ postIfUnsettled: true } as const);
  return goesOn === undefined && growth === undefined
    ? fields
    : { ...fields, ...(goesOn !== undefined && { goesOn }), ...(growth !== undefined && { growth }) };
}

/** Returns the id of the run that a hold is for; null if it is not known yet. */
export function runIdOf({ id, runId, surface }: Pick<Hold, 'id' | 'runId' | 'surface'>): string | null {
  return runId ?? (surface === 'run' ? `run${id.slice(idPrefix)}` : null);
}

/** Returns the only run that may settle the hold; null if any run may. */
export function ownerOf(hold: Hold): string | null {
  return hold.postIfUnsettled === true ? runIdOf(hold) : hold.runId;
}

/** Returns the id of the hold of a call, derived from the id of its run. */
export function holdIdOfCall(runId: string): string {
  return `dec${runId.slice(idPrefix)}`;
}

/** Length of the prefixes `dec` and `run`. */
const idPrefix = 3;

/** Returns true if the amount of the hold is posted when it expires unsettled. */
export function isPostedAtExpiry(
  { postIfUnsettled }: Pick<Hold, 'postIfUnsettled'>,
  ofOrg: OnUnsettled | undefined,
): boolean {
  return postIfUnsettled === true || ofOrg === 'post_held';
}

/** The idempotency key that is stored with the hold while the hold is open; see `hold-keys.ts`. */
export type HoldKey = {
  readonly digest: string;
  readonly fingerprint: string;
} & (
  | {
      /** The encrypted response in base64; null once the customer of the request was erased. */
      readonly encrypted: string | null;
      readonly customerDigest?: string | null;
      readonly answer?: undefined;
    }
  /** Form of an earlier release: the response in plain text. */
  | { readonly answer: string; readonly encrypted?: undefined; readonly customerDigest?: undefined }
);

/** The stored form. Amounts are strings because JSON numbers cannot hold integers of this size. */
interface StoredHold extends Omit<Hold, 'amounts' | 'shares' | 'packs' | 'idempotency' | 'growth'> {
  readonly amounts: readonly [usd: string, tokens: string, requests: string];
  readonly shares: readonly string[];
  readonly packs: readonly string[];
  readonly idempotency?: HoldKey;
  readonly growth?: readonly [usd: string, tokens: string];
}

/**
 * Returns the stored form of a hold that has ended. It leaves out the reservations, because a late settlement counts by the scope,
 * and the idempotency key, which has its own table. Fields are listed one by one, because copying the object and removing fields
 * takes several times as long.
 */
export function storedEnd(hold: Hold): object {
  const { amounts } = hold;
  return {
    id: hold.id,
    orgId: hold.orgId,
    runId: hold.runId,
    surface: hold.surface,
    scope: hold.scope,
    admittedAtMs: hold.admittedAtMs,
    expiresAtMs: hold.expiresAtMs,
    priceVersion: hold.priceVersion,
    amounts: [amounts.usd.toString(), amounts.tokens.toString(), amounts.requests.toString()],
    shares: [],
    packs: flat(hold.packs),
    degraded: hold.degraded,
    service: hold.service,
    postIfUnsettled: hold.postIfUnsettled,
    goesOn: hold.goesOn,
    depth: hold.depth,
    increases: hold.increases,
  };
}

/**
 * Serializes holds as one line of the hold log. The text is built by hand, which takes a third of the time; this runs for every
 * decision. Scopes and shares would be most of the text, so they are written once and referenced by index.
 */
export function holdsLine(holds: readonly Hold[]): string {
  const scopes = new Map<Scope, number>();
  const shares = new Map<readonly ReservedCounter[], number>();
  let line = '';
  for (const hold of holds) {
    const text = holdText(hold, indexIn(scopes, hold.scope), indexIn(shares, hold.shares));
    line += line === '' ? text : `,${text}`;
  }
  const scopeTexts = [...scopes.keys()].map((scope) => JSON.stringify(scopeValues(scope)));
  return `{"holds":[${line}],"scopes":[${scopeTexts.join()}],"shares":[${[...shares.keys()].map(sharesText).join()}]}`;
}

function indexIn<Common>(indexes: Map<Common, number>, common: Common): number {
  let index = indexes.get(common);
  if (index === undefined) {
    index = indexes.size;
    indexes.set(common, index);
  }
  return index;
}

export function holdsOfLine(line: string): Hold[] {
  const { holds, scopes = [], shares } = JSON.parse(line) as LoggedHolds;
  const decodedScopes = scopes.map(scopeOfValues);
  const decodedShares = shares.map(pairedShares);
  return holds.map((stored) => {
    // Lines written by earlier releases contain the scope in each hold.
    const scope =
      typeof stored.scope === 'number' ? decodedScopes[stored.scope] : scopeOfValues(stored.scope);
    const reserved = decodedShares[stored.shares];
    if (scope === undefined || reserved === undefined) {
      throw new Error(`hold ${stored.id} has no scope or no shares in the hold log`);
    }
    return { ...restored(stored), scope, shares: reserved };
  });
}

interface LoggedHolds {
  /** `scope` and `shares` are indexes into the lists below. */
  readonly holds: readonly (Omit<StoredHold, 'shares' | 'scope'> & {
    readonly scope: number | ScopeValues;
    readonly shares: number;
  })[];
  readonly scopes?: readonly ScopeValues[];
  readonly shares: readonly (readonly string[])[];
}

/** Serializes one hold for its database row. */
export function holdRecord(hold: Hold): string {
  return holdText(hold, scopeText(hold.scope), sharesText(hold.shares));
}

export function holdOfRecord(record: string): Hold {
  return restoredHold(JSON.parse(record));
}

function holdText(hold: Hold, scope: string | number, shares: string | number): string {
  const { amounts, idempotency, priceVersion, packs } = hold;
  return (
    `{"id":"${hold.id}","orgId":"${hold.orgId}","runId":${hold.runId === null ? 'null' : `"${hold.runId}"`},` +
    `"surface":"${hold.surface}","scope":${scope},` +
    `"amounts":["${amounts.usd}","${amounts.tokens}","${amounts.requests}"],` +
    `"admittedAtMs":${hold.admittedAtMs},"expiresAtMs":${hold.expiresAtMs},"shares":${shares},` +
    `"packs":${packs.length === 0 ? '[]' : JSON.stringify(flat(packs))},` +
    `"priceVersion":${priceVersion === null ? 'null' : JSON.stringify(priceVersion)}` +
    `${idempotency === null ? '' : `,"idempotency":${JSON.stringify(idempotency)}`}` +
    `${hold.service === undefined ? '' : `,"service":${JSON.stringify(hold.service)}`}` +
    `${hold.degraded === true ? ',"degraded":true' : ''}` +
    `${hold.postIfUnsettled === true ? ',"postIfUnsettled":true' : ''}` +
    `${hold.goesOn === undefined ? '' : `,"goesOn":${JSON.stringify(hold.goesOn)}`}` +
    `${hold.growth === undefined ? '' : `,"growth":["${hold.growth.usd}","${hold.growth.tokens}"]`}` +
    `${hold.depth === undefined ? '' : `,"depth":${hold.depth}`}` +
    `${hold.increases === undefined ? '' : `,"increases":${JSON.stringify(hold.increases)}`}}`
  );
}

/** The values of a scope in a fixed order. Missing values at the end are left out; release 0.1.0 wrote ten values. */
type ScopeValues = readonly (string | null | Tags)[];

const firstFields = scopeDimensions.filter((name) => runDimensions[name].since === '0.1.0');
/** Release 0.2.0 added tags after its dimensions. */
const storedFields: readonly (keyof Scope)[] = inOrder<keyof Scope>(
  [...firstFields, 'member_id', 'tags'],
  scopeDimensions,
);

/** Returns the values without field names, which would be most of the text. */
function scopeValues(scope: Scope): ScopeValues {
  const values: (string | null | Tags)[] = [];
  for (const field of storedFields) {
    values.push(scope[field]);
  }
  while (values.length > firstFields.length && values.at(-1) === null) {
    values.pop();
  }
  return values;
}

function scopeOfValues(values: ScopeValues): Scope {
  const scope: Record<keyof Scope, unknown> = { ...emptyScope };
  for (const [index, field] of storedFields.entries()) {
    scope[field] = values[index] ?? null;
  }
  return scope as Scope;
}

export function restoredHold(stored: unknown): Hold {
  const { shares, scope, ...rest } = stored as StoredHold;
  return { ...restored(rest), scope: completeScope(scope), shares: pairedShares(shares) };
}

/** Adds the fields that an earlier release did not write. */
function completeScope(scope: Partial<Scope>): Scope {
  return { ...emptyScope, ...scope };
}

function restored(stored: Omit<StoredHold, 'shares' | 'scope'>): Omit<Hold, 'shares' | 'scope'> {
  const { amounts, packs, idempotency, growth, ...rest } = stored;
  const [usd, tokens, requests] = amounts;
  return {
    ...rest,
    amounts: { usd: BigInt(usd), tokens: BigInt(tokens), requests: BigInt(requests) },
    packs: paired(packs),
    idempotency: idempotency ?? null,
    ...(growth !== undefined && {
      growth: { usd: BigInt(growth[0]), tokens: BigInt(growth[1]), requests: 0n },
    }),
  };
}

/** Cached per object, because `sharedScope` returns one object for equal scopes. */
const scopeTexts = new WeakMap<Scope, string>();

function scopeText(scope: Scope): string {
  let text = scopeTexts.get(scope);
  if (text === undefined) {
    text = JSON.stringify(scope);
    scopeTexts.set(scope, text);
  }
  return text;
}

/**
 * Cached per object, because many holds have the same shares, and these are most of the text. Cleared when it is full: the texts of
 * ten thousand organizations would take more memory than their holds.
 */
const shareTexts = new Map<readonly ReservedCounter[], string>();
const shareTextsMax = 1_000;

function sharesText(shares: readonly ReservedCounter[]): string {
  let text = shareTexts.get(shares);
  if (text === undefined) {
    text = JSON.stringify(flatShares(shares));
    if (shareTexts.size >= shareTextsMax) {
      shareTexts.clear();
    }
    shareTexts.set(shares, text);
  }
  return text;
}

function flatShares(shares: readonly ReservedCounter[]): string[] {
  return shares.flatMap(({ key, unit }) => [key, unit]);
}

function pairedShares(texts: readonly string[]): ReservedCounter[] {
  const shares: ReservedCounter[] = [];
  for (let i = 0; i + 1 < texts.length; i += 2) {
    shares.push({ key: texts[i] as string, unit: texts[i + 1] as Unit });
  }
  return shares;
}

/** Returns alternating keys and amounts: half the size, and several times faster to serialize. */
function flat(debits: readonly Debit[]): string[] {
  const texts: string[] = [];
  for (const { key, amount } of debits) {
    texts.push(key, amount.toString());
  }
  return texts;
}

function paired(texts: readonly string[]): Debit[] {
  const debits: Debit[] = [];
  for (let i = 0; i + 1 < texts.length; i += 2) {
    debits.push({ key: texts[i] as string, amount: BigInt(texts[i + 1] as string) });
  }
  return debits;
}
