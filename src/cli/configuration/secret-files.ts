/**
 * Files for the secrets that an application creates: each is written once, readable by its owner only, and never replaced.
 *
 * The service shows a secret only once. So the request is stored before it is sent, with its `Idempotency-Key`: if the command is
 * killed before the secrets are in their files, the next one sends the same request again and gets the same response.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CreatedSecret } from '../../capabilities/integration/configuration/index.ts';
import { makeDirectory, writePrivateFile } from '../../platform/files/durable-files.ts';

/** A request whose response may hold secrets. */
export interface PendingRequest {
  readonly url: string;
  readonly path: string;
  readonly body: object;
  /** Name of the organization in the names of the files. */
  readonly org: string;
  readonly idempotencyKey: string;
  readonly sentAt: string;
}

/** How long the service keeps the response. */
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

/** Writes each secret to `<directory>/<org>/<section>/<name>`. A file that exists already stays, and the new one gets the id in its name. */
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

/** True if an interrupted command has written the secret already. */
function isSame(file: string, content: string): boolean {
  return readFileSync(file, 'utf8') === content;
}

/** Letters, digits and a few signs; others, such as the slashes of a URL, become hyphens. */
function fileName(name: string): string {
  const safe = name
    .replace(/^https?:\/\//, '')
    .replaceAll(/[^\p{L}\p{N}@._+-]+/gu, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '')
    .slice(0, 100);
  return safe === '' ? 'secret' : safe;
}
