/**
 * Tables that describe one instance rather than its data. A backup leaves them out: counters are recreated from the ledger and the
 * open holds, holds are stored where the engine keeps them, rates recover by themselves, and the rest is about running processes.
 */
const instanceTables: ReadonlySet<string> = new Set([
  'counters',
  'holds',
  'hold_log_generation',
  'processes',
  'rate_meters',
  'schema_migrations',
  'transfer_progress',
]);

export function isInstanceTable(table: string): boolean {
  return instanceTables.has(table);
}
