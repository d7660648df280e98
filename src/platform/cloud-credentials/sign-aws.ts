/**
 * Signature Version 4 of AWS. It covers the method, path, query, host, content type, body and every `x-amz-` header. Other headers are left
 * out, because a proxy may change them.
 */
import { createHash, createHmac } from 'node:crypto';
import type { AwsCredential } from './credential.ts';

export interface AwsRequest {
  readonly method: string;
  /** The URL as it is sent. Segments of its path must be percent-encoded (`%3A` for the colon in the id of a model). */
  readonly url: URL;
  /** With lower-case names. The signature adds its headers here. */
  readonly headers: Record<string, string | string[]>;
  readonly body: Uint8Array | string | undefined;
}

export interface AwsScope {
  readonly region: string;
  /** As signatures name the service: `bedrock`, `sts`. */
  readonly service: string;
  readonly atMs: number;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** Adds the headers `authorization`, `x-amz-date` and, for a session, `x-amz-security-token`. Call it once the request is complete. */
export function signAws(request: AwsRequest, credential: AwsCredential, scope: AwsScope): void {
  const { url, headers } = request;
  const time = new Date(scope.atMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scopeText = `${time.slice(0, 8)}/${scope.region}/${scope.service}/aws4_request`;
  headers['x-amz-date'] = time;
  if (credential.sessionToken === undefined) {
    delete headers['x-amz-security-token'];
  } else {
    headers['x-amz-security-token'] = credential.sessionToken;
  }
  const signed = [['host', url.host] as const, ...Object.entries(headers).filter(([name]) => isSigned(name))]
    .map(([name, value]) => [name, canonicalValue(value)] as const)
    .sort(([one], [other]) => compared(one, other));
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    canonicalPath(url.pathname),
    canonicalQuery(url),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(request.body ?? ''),
  ].join('\n');
  const text = [algorithm, time, scopeText, sha256(canonical)].join('\n');
  const signature = hmac(signingKey(credential, scopeText), text).toString('hex');
  headers.authorization = `${algorithm} Credential=${credential.accessKeyId}/${scopeText}, SignedHeaders=${names}, Signature=${signature}`;
}

/** Names who may use a signed request in the federation of Google (`google/federation.ts`). */
export const targetResourceHeader = 'x-goog-cloud-target-resource';

function isSigned(name: string): boolean {
  return name === 'content-type' || name === targetResourceHeader || name.startsWith('x-amz-');
}

function canonicalValue(value: string | string[]): string {
  const values = Array.isArray(value) ? value : [value];
  return values.map((one) => one.trim().replace(/ +/g, ' ')).join(',');
}

/** All services but S3 encode the path a second time. */
function canonicalPath(pathname: string): string {
  return pathname.split('/').map(encodeUri).join('/');
}

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => [encodeUri(name), encodeUri(value)] as const)
    .sort(
      ([name, value], [otherName, otherValue]) => compared(name, otherName) || compared(value, otherValue),
    )
    .map((parameter) => parameter.join('='))
    .join('&');
}

function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Encodes everything but the unreserved characters of RFC 3986. */
function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The key of a credential is valid for a day; deriving it takes longer than the signature itself. */
const keys = new WeakMap<AwsCredential, { readonly scope: string; readonly key: Buffer }>();

function signingKey(credential: AwsCredential, scope: string): Buffer {
  const known = keys.get(credential);
  if (known?.scope === scope) {
    return known.key;
  }
  const key = scope
    .split('/')
    .reduce<string | Buffer>((parent, part) => hmac(parent, part), `AWS4${credential.secretAccessKey}`);
  keys.set(credential, { scope, key: key as Buffer });
  return key as Buffer;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex');
}
