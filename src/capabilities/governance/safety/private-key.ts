/**
 * Finds private keys in well-known envelopes. An envelope without key data, as in a manual, does not count, except for the header
 * of a PuTTY file.
 */
import { scan, type TextMatch } from './scanning.ts';

/** Matches a line end, or `\n` as in string literals. */
const lineEnd = String.raw`(?:\\r|\\n|\s|["'+>|]){0,40}`;
/** Headers before the key data, such as the cipher of an encrypted key. */
const headers = String.raw`(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash)[:=][^\n\\]{0,100}${lineEnd}){0,4}`;
const armored = `-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED|PGP|ANY|SSH2 ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----${lineEnd}${headers}[A-Za-z0-9+/=_-]{32,80}`;
const putty = String.raw`PuTTY-User-Key-File-[23]: \S{1,40}\s{1,4}Encryption: `;
const age = String.raw`\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}(?![A-Z0-9])`;
const wireGuard = String.raw`\bPrivateKey\s{0,3}=\s{0,3}[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=`;
const pattern = new RegExp(`${armored}|${putty}|${age}|${wireGuard}`, 'g');

export function findPrivateKeys(content: string): Generator<TextMatch | null> {
  return scan(pattern, content, (text) => !isPlaceholder(text));
}

/** Returns true for placeholders of manuals, such as `xxxx…` and `AAAA…`. */
function isPlaceholder(text: string): boolean {
  if (text.startsWith('PuTTY')) {
    return false;
  }
  const key = text.slice(-32);
  return new Set(key).size < 9;
}
