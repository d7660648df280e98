/**
 * Files for the secrets that an application creates. Each file is written once, is readable by its owner only, and is never
 * replaced.
 *
 * The service shows a secret only once. So the request is stored before it is sent, with its `Idempotency-Key`. If the command is
 * killed before the secrets are in their files, the next command sends the same request again and gets the same response.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CreatedSecret } from '../../capabilities/integration/configuration/index.ts';
import { makeDirectory, writePrivateFile } from '../../platform/files/durable-files.ts';

/** A request whose response may contain secrets. */
export interface PendingRequest {
  readonly url: string;
  /** The caller to which the service replays the response. For another caller, the service would reject the request or apply it again. */
  readonly sender: string;
  readonly path: string;
  readonly body: object;
  /** The organization, as it appears in file names. */
  readonly org: string;
  readonly idempotencyKey: string;
  readonly sentAt: string;
}

/** Returns a digest of the key, so that the file does not contain the key itself. */
export function senderOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

/** Time for which the service keeps the response. */
const keptMs = 72 * 3_600_000;

export function isKept({ sentAt }: PendingRequest, now: Date): boolean {
  return now.getTime() - Date.parse(sentAt) < keptMs;
}

function pendingDirectory(directory: string): string {
  return join(directory, '.pending');
}

/** Stores the request. Returns the name of its file. */
export function storePending(directory: string, request: PendingRequest): string {
  const pending = pendingDirectory(directory);
  makeDirectory(pending);
  const file = join(pending, `${randomUUID()}.json`);
  writePrivateFile(file, JSON.stringify(request));
  return file;
}

export function removePending(file: string): void {
  rmSync(file);
}

/** Returns the requests to this service whose secrets may not be in their files yet. */
export function pendingRequests(
  directory: string,
  url: string,
): { readonly file: string; readonly request: PendingRequest }[] {
  const pending = pendingDirectory(directory);
  const names = existsSync(pending) ? readdirSync(pending).filter((name) => name.endsWith('.json')) : [];
  return names
    .map((name) => join(pending, name))
    .map((file) => ({ file, request: JSON.parse(readFileSync(file, 'utf8')) as PendingRequest }))
    .filter(({ request }) => request.url === url);
}

export interface SecretFile {
  readonly section: string;
  readonly name: string;
  readonly id: string;
  readonly file: string;
}

/** Writes each secret to `<directory>/<org>/<section>/<name>`. An existing file is kept; the new one then has the id in its name. */
export function writeSecrets(
  directory: string,
  org: string,
  secrets: readonly CreatedSecret[],
): SecretFile[] {
  return secrets.map(({ section, name, id, secret }) => {
    const folder = join(directory, fileName(org), section);
    makeDirectory(folder);
    const content = `${secret}\n`;
    const plain = join(folder, fileName(name));
    const file = !existsSync(plain) || isSame(plain, content) ? plain : `${plain}.${id}`;
    writePrivateFile(file, content);
    return { section, name, id, file };
  });
}

/** Returns true if the file already has this secret, because an interrupted command has written it. */
function isSame(file: string, content: string): boolean {
  return readFileSync(file, 'utf8') === content;
}

/** Maximum length of a file name. File systems allow 255 bytes, and the id may be added. */
const fileNameBytesMax = 150;

/**
 * Returns a safe file name: letters, digits and a few signs. All other characters, such as the slashes of a URL, become hyphens. It
 * never starts with a dot.
 */
function fileName(name: string): string {
  const safe = name.replace(/^https?:\/\//, '').replaceAll(/[^\p{L}\p{N}@._+-]+/gu, '-');
  const trimmed = firstBytes(safe.replace(/^[.-]+/, ''), fileNameBytesMax).replace(/[.-]+$/, '');
  return trimmed === '' ? 'secret' : trimmed;
}

/** Returns the longest prefix with at most this many bytes. */
function firstBytes(text: string, bytesMax: number): string {
  let first = '';
  let bytes = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > bytesMax) {
      break;
    }
    first += character;
  }
  return first;
}
