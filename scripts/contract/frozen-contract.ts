/**
 * What the contract itself names, written off it by hand: the independent statement that the code is held against.
 * No command writes it. Its bytes are pinned here, so that an edit of the file alone is refused.
 */
import { createHash } from 'node:crypto';
import { broken } from './promises.ts';

export interface FrozenDetail {
  readonly type?: 'decimal string' | 'timestamp' | 'field errors';
  readonly optional?: boolean;
  readonly values?: readonly string[];
}

export interface FrozenDeprecation {
  readonly kind: 'route' | 'delivery' | 'setting';
  readonly surface: string;
  readonly announced: string;
  readonly sunset?: string;
  readonly replacement?: string;
}

export interface FrozenContract {
  readonly envelope: Readonly<Record<string, string>>;
  readonly field_error: { readonly fields: readonly string[]; readonly codes: readonly string[] };
  readonly codes: Readonly<
    Record<
      string,
      { readonly statuses: readonly number[]; readonly details: Readonly<Record<string, FrozenDetail>> }
    >
  >;
  readonly authentication: { readonly scheme: string; readonly codes: readonly string[] };
  readonly headers: {
    readonly request: readonly string[];
    readonly of_code: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
  readonly routes: Readonly<
    Record<string, { readonly success?: number; readonly codes?: readonly string[] }>
  >;
  readonly list_routes: { readonly parameter: string; readonly codes: readonly string[] };
  readonly unmatched_route: { readonly status: number; readonly code: string };
  readonly settings: readonly string[];
  readonly deprecation_entry: { readonly required: readonly string[]; readonly optional: readonly string[] };
  readonly signalling: {
    readonly headers: Readonly<Record<string, readonly string[]>>;
    readonly metric: { readonly name: string; readonly type: string; readonly labels: readonly string[] };
  };
  readonly deliveries: {
    readonly signature_header: string;
    readonly v1: string;
    readonly v2: string;
    readonly version_header: string;
  };
  readonly deprecations: readonly FrozenDeprecation[];
  readonly minimum_notice: { readonly v1_overlap_months: number; readonly setting_releases: number };
}

const digest = 'a4d980d7dd381a044fedfe69103c9738bd4f0481bc1b505fd7343976fa5cf12b';

export function checkPin(contractText: string): string[] {
  return createHash('sha256').update(contractText).digest('hex') === digest
    ? []
    : [broken('frozen', 'contract/contract.json was edited')];
}
