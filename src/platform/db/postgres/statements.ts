/** The form in which statements are given to `pg`. */
import type pg from 'pg';
import { toText } from '../wire/values.ts';

/**
 * Names of prepared statements, so that a connection parses each statement once. Most texts are fixed; those of
 * lists vary with their filters, so beyond `namesMax` statements are not prepared.
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
  /** Disables the timeout of the connection. */
  readonly patient: boolean;
  /** False if the next statement may run on another server connection, which does not know the name. */
  readonly prepared: boolean;
}

/** A text without parameters may contain several statements. Throws if a value cannot be encoded, before anything is sent. */
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
    // The longest possible timer; zero would mean the connection's own timeout.
    ...(patient && { query_timeout: 2_147_483_647 }),
  };
}

/** `pg` would encode a value after it has sent the statement: on failure it closes the statement, and still uses it later. */
function encoded(value: unknown): Uint8Array | string | null {
  return value instanceof Uint8Array ? value : toText(value);
}
