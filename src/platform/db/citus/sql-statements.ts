/**
 * Splits SQL into its statements. Citus sends the text of a command to the workers, and fails if that text has several: on a
 * distributed database each statement of a migration is sent by itself.
 */

/** Text that may contain semicolons: comments, quoted strings and names, and bodies between dollar signs. */
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
