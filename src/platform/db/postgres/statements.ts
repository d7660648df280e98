/** Converts statements to the form that `pg` needs. */
import type pg from 'pg';
import { toText } from '../wire/values.ts';

/**
 * Names of prepared statements, so that a connection parses each statement once. Most texts are fixed, but those of lists vary with
 * their filters. Beyond `namesMax`, statements are not prepared.
 */
const names = new Map<string, string>();
const namesMax = 400;

function statementName(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= namesMax) {
    return known;
  }
  const name = `purser_${names.size}`;
  names.set(sql, name);
  return name;
}

export interface StatementOptions {
  /** Disables the timeout for responses. */
  readonly patient: boolean;
  /** False if the next statement may run on another server connection, where the name is unknown. */
  readonly prepared: boolean;
}

/**
 * Returns the configuration of a statement. SQL without parameters may contain several statements. Throws before anything is sent
 * if a value cannot be encoded.
 */
export function queryConfig(
  sql: string,
  params: readonly unknown[] | undefined,
  { patient, prepared }: StatementOptions,
): pg.QueryConfig {
  const name = params === undefined || !prepared ? undefined : statementName(sql);
  return {
    text: sql,
    ...(name !== undefined && { name }),
    ...(params !== undefined && { values: params.map(encoded) }),
    // The longest possible timer, because zero would select the connection's own timeout.
    ...(patient && { query_timeout: 2_147_483_647 }),
  };
}

/**
 * Encodes a value. `pg` would do this after sending the statement: after a failure it closes the prepared statement but still uses
 * it later.
 */
function encoded(value: unknown): Uint8Array | string | null {
  return value instanceof Uint8Array ? value : toText(value);
}
