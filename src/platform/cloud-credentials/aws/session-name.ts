import type { CredentialOwner } from '../credential-source.ts';

const lengthMax = 64;

/** Returns the name of a session, which CloudTrail shows. Names of connections have only characters that AWS allows. */
export function sessionName({ connection }: CredentialOwner): string {
  return `purser-${connection}`.slice(0, lengthMax);
}
