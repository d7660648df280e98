/** The operating system's account that runs a command, for the audit log. */
import { userInfo } from 'node:os';

/** The account's name; its number in a container, whose user often has no entry in `/etc/passwd`. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
