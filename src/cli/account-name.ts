/** The operating system account that runs a command, for the audit log. */
import { userInfo } from 'node:os';

/** Returns the name of the account. In a container, whose user often has no entry in `/etc/passwd`, returns its number. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
