/**
 * Names of the contract document, transcribed by hand, with which the code is compared. No command writes the file. Its digest
 * is pinned here, so that an edit of the file alone is rejected.
 */
import { createHash } from 'node:crypto';
import { broken } from './promises.ts';

export interface FrozenDetail {
  readonly type?: 'decimal string' | 'timestamp' | 'integer' | 'field errors';
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
  readonly authentication: {
    readonly scheme: string;
    /** Codes of every operation that requires a key. */
    readonly codes: readonly string[];
    /** Codes of operations that require a scope, and of those whose path names a resource. */
    readonly scoped_codes: readonly string[];
    readonly tenant_codes: readonly string[];
  };
  readonly headers: {
    /** Request headers, each with the codes of the operations that accept it. */
    readonly request: Readonly<Record<string, readonly string[]>>;
    readonly of_code: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
  readonly routes: Readonly<
    Record<
      string,
      {
        readonly success?: number;
        readonly codes?: readonly string[];
        /** Codes per status, if the contract specifies them. */
        readonly statuses?: Readonly<Record<string, readonly string[]>>;
      }
    >
  >;
  readonly body_routes: { readonly codes: readonly string[] };
  readonly list_routes: { readonly parameter: string; readonly codes: readonly string[] };
  readonly unmatched_route: { readonly status: number; readonly code: string };
  /** Request fields by name, with the values of the contract. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
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

const digest = 'a25058e0cb3d018fe7d3d0592ac8bbd96c49103e4d3e7c5ac16b2fc229c927c3';

export function checkPin(contractText: string): string[] {
  return createHash('sha256').update(contractText).digest('hex') === digest
    ? []
    : [broken('frozen', 'contract/contract.json was edited')];
}
