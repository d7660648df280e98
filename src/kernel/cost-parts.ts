/**
 * The cost of a posting by kind of usage. Stored as a text such as `i1000,3000000;u:page,2,50;`: the code of each kind, the
 * quantity and the nanodollars. Such texts are added by joining them; SQL reads them with `cost_parts` (migration 0103). What the parts do not cover is `unsplit`: it is never stored,
 * so a posting without parts, such as those before the parts existed, is unsplit as a whole.
 */

/** Names of the kinds, by their code in the stored text. A unit of a price has the code `u:<name>`. */
const kindNames = {
  i: 'input',
  c: 'cached_input',
  d: 'cached_image_input',
  w: 'cache_write',
  l: 'cache_write_1h',
  a: 'audio_input',
  m: 'image_input',
  o: 'output',
  r: 'reasoning',
  s: 'audio_output',
  g: 'image',
  q: 'request',
  t: 'tool_calls',
  j: 'adjustment',
} as const;
type KindCode = keyof typeof kindNames;

/** Code for the rest of a cost that its parts do not cover; never stored. */
export const unsplitCode = '-';
const unsplitKind = 'unsplit';
const unitCode = 'u:';
const unitKind = 'unit:';

/** The kinds that every price can have; a unit has the kind `unit:<name>`. */
export const namedKinds: readonly string[] = [...Object.values(kindNames), unsplitKind];

export type PartCode = KindCode | `u:${string}`;

export interface CostPart {
  readonly code: PartCode;
  /** Tokens, units or calls. */
  readonly quantity: bigint;
  readonly nanos: bigint;
}

export type CostParts = readonly CostPart[];

export const noParts: CostParts = [];

export function codeOfUnit(name: string): PartCode {
  return `${unitCode}${name}`;
}

/** Returns the name of a kind on the wire. */
export function kindOfCode(code: string): string {
  if (code === unsplitCode) {
    return unsplitKind;
  }
  return code.startsWith(unitCode)
    ? `${unitKind}${code.slice(unitCode.length)}`
    : kindNames[code as KindCode];
}

/** Returns the code of a kind that a request names; undefined if there is none. */
export function requestedCode(kind: string): string | undefined {
  if (kind === unsplitKind) {
    return unsplitCode;
  }
  if (kind.startsWith(unitKind) && kind.length > unitKind.length) {
    return `${unitCode}${kind.slice(unitKind.length)}`;
  }
  return Object.entries(kindNames).find(([, name]) => name === kind)?.[0];
}

export function writeParts(parts: CostParts): string {
  let text = '';
  for (const { code, quantity, nanos } of parts) {
    text += `${code}${code.length === 1 ? '' : ','}${quantity},${nanos};`;
  }
  return text;
}

const partPattern = /([a-z])(?:(:[^,]+),)?(-?\d+),(-?\d+);/g;

export function readParts(text: string): CostParts {
  return [...text.matchAll(partPattern)].map(([, code = '', unit = '', quantity = '', nanos = '']) => ({
    code: `${code}${unit}` as PartCode,
    quantity: BigInt(quantity),
    nanos: BigInt(nanos),
  }));
}

/** Adds up the parts of each kind. Leaves out kinds whose parts cancel out. */
export function sumOfParts(...lists: readonly CostParts[]): CostParts {
  const sums: PartSums = new Map();
  for (const parts of lists) {
    addParts(sums, parts);
  }
  return partsOfSums(sums).filter(({ quantity, nanos }) => quantity !== 0n || nanos !== 0n);
}

/** Sums while they are built, by code. */
export type PartSums = Map<PartCode, { quantity: bigint; nanos: bigint }>;

export function addParts(sums: PartSums, parts: CostParts): void {
  for (const { code, quantity, nanos } of parts) {
    const sum = sums.get(code);
    if (sum === undefined) {
      sums.set(code, { quantity, nanos });
    } else {
      sum.quantity += quantity;
      sum.nanos += nanos;
    }
  }
}

export function partsOfSums(sums: PartSums): CostParts {
  return [...sums].map(([code, { quantity, nanos }]) => ({ code, quantity, nanos }));
}

const codeOrder = 'icdwlamorsgqtuj';

/** Returns the parts in the order of the kinds: input, output, everything else, corrections. */
export function inKindOrder(parts: CostParts): CostParts {
  return parts.toSorted((one, other) => orderOf(one) - orderOf(other));
}

function orderOf({ code }: CostPart): number {
  return codeOrder.indexOf(code.charAt(0));
}

/** Divides a cost among the kinds in proportion to these parts. Their sum must not be 0. */
export function scaledParts(parts: CostParts, nanos: bigint): CostParts {
  const total = nanosOfParts(parts);
  let before = 0n;
  let sum = 0n;
  return parts.map((part) => {
    sum += part.nanos;
    const share = (nanos * sum) / total - before;
    before += share;
    return { ...part, nanos: share };
  });
}

export function negatedParts(parts: CostParts): CostParts {
  return parts.map(({ code, quantity, nanos }) => ({ code, quantity: -quantity, nanos: -nanos }));
}

export function nanosOfParts(parts: CostParts): bigint {
  return parts.reduce((sum, { nanos }) => sum + nanos, 0n);
}
