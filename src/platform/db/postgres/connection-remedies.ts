/** Advice for a connection to PostgreSQL that fails. */

/** Remedies by SQLSTATE and by error code of Node. */
const remedies: Readonly<Record<string, string>> = {
  '28P01': 'Correct the user or the password in SVC_DATABASE_URL.',
  '28000': 'Correct the user in SVC_DATABASE_URL, or allow it to connect in pg_hba.conf of the server.',
  '3D000': 'Create the database (`createdb`), or correct its name in SVC_DATABASE_URL.',
  '42501': 'Grant the permission to the user in SVC_DATABASE_URL, or make it the owner of the database.',
  '53300': 'Raise max_connections of the server, or lower SVC_DATABASE_CONNECTIONS.',
  ECONNREFUSED: 'Check that PostgreSQL is running, and the host and port in SVC_DATABASE_URL.',
  ENOTFOUND: 'Correct the host name in SVC_DATABASE_URL.',
  EAI_AGAIN: 'Check the name server, and the host name in SVC_DATABASE_URL.',
};

const otherwise =
  'Check that PostgreSQL is running and can be reached from this machine, and what SVC_DATABASE_URL says. ' +
  '`purser doctor` examines the connection.';

/** Returns a remedy as a sentence. It may come from the cause of the error. */
export function remedyOf(error: unknown): string {
  for (let one = error; one instanceof Error; one = one.cause) {
    const [first] = one instanceof AggregateError ? one.errors : [];
    const { code = (first as NodeJS.ErrnoException | undefined)?.code ?? '' } = one as NodeJS.ErrnoException;
    const remedy = remedies[code];
    if (remedy !== undefined) {
      return remedy;
    }
  }
  return otherwise;
}
