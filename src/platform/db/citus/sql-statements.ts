/**
 * Splits SQL into its statements. On a distributed database each statement of a migration is sent separately, because Citus sends
 * the text of a command to the workers and fails if it has several statements.
 */

/** Matches text that may contain semicolons: comments, quoted strings and names, and dollar-quoted bodies. */
const parts =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1|;|[^'"$;/-]+|[\s\S]/g;

export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [part] of sql.matchAll(parts)) {
    if (part === ';') {
      statements.push(statement);
      statement = '';
    } else if (!part.startsWith('--') && !part.startsWith('/*')) {
      statement += part;
    }
  }
  return [...statements, statement].map((one) => one.trim()).filter((one) => one !== '');
}
