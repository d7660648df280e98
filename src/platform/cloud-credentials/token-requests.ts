/** Requests to services that issue credentials. Errors contain the status and the code of the answer, never its text. */
import { type CredentialRequest, CredentialUnavailable, type Surroundings } from './credential-source.ts';

export interface TokenServiceRequest {
  /** Name of the service in errors. */
  readonly service: string;
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | object | string;
}

/** Returns the text of a successful answer. */
export async function requestText(
  { fetch }: Pick<Surroundings, 'fetch'>,
  { service, url, method = 'GET', headers = {}, body }: TokenServiceRequest,
): Promise<string> {
  const [type, content] = encoded(body);
  const answer = await fetch(url, {
    method,
    headers: {
      ...(type !== undefined && { 'content-type': type }),
      ...(content !== undefined && { 'content-length': String(Buffer.byteLength(content)) }),
      ...headers,
    },
    body: content,
  }).catch((error: unknown) => {
    throw new CredentialUnavailable(`${service} could not be reached (${codeOf(error)})`);
  });
  const text = await answer.text();
  if (!answer.ok) {
    const code = errorCodeIn(text);
    throw new CredentialUnavailable(
      `${service} answered ${answer.status}${code === undefined ? '' : ` ${code}`}`,
    );
  }
  return text;
}

/** Returns the object in a successful answer. */
export async function requestJson(
  surroundings: Pick<Surroundings, 'fetch'>,
  request: TokenServiceRequest,
): Promise<Readonly<Record<string, unknown>>> {
  return parsedObject(await requestText(surroundings, request), request.service);
}

export function parsedObject(text: string, what: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // The error of the parser quotes the text.
  }
  throw new CredentialUnavailable(`${what} has no JSON object`);
}

/** Returns a member that must be text. */
export function textIn(answer: Readonly<Record<string, unknown>>, name: string, service: string): string {
  const value = answer[name];
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) {
    throw new CredentialUnavailable(`${service} answered without ${name}`);
  }
  return value;
}

/** Returns a time that must be in ISO 8601. */
export function timeIn(answer: Readonly<Record<string, unknown>>, name: string, service: string): number {
  const atMs = Date.parse(String(answer[name]));
  if (Number.isNaN(atMs)) {
    throw new CredentialUnavailable(`${service} answered without ${name}`);
  }
  return atMs;
}

/** Returns a file without white space at its ends. Errors name the variable or setting with its path. */
export async function readTokenFile(
  { readFile }: Pick<Surroundings, 'readFile'>,
  path: string,
  setting: string,
): Promise<string> {
  const text = await readFile(path).catch((error: unknown) => {
    throw new CredentialUnavailable(`the file of ${setting} cannot be read (${codeOf(error)})`);
  });
  if (text.trim() === '') {
    throw new CredentialUnavailable(`the file of ${setting} is empty`);
  }
  return text.trim();
}

/** Returns a variable that must be set. */
export function variableOf({ surroundings }: CredentialRequest, name: string): string {
  const value = surroundings.variables[name];
  if (value === undefined) {
    throw new CredentialUnavailable(`${name} is not set`);
  }
  return value;
}

function encoded(body: TokenServiceRequest['body']): readonly [string | undefined, string | undefined] {
  if (body instanceof URLSearchParams) {
    return ['application/x-www-form-urlencoded', body.toString()];
  }
  return typeof body === 'object' ? ['application/json', JSON.stringify(body)] : [undefined, body];
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}

/** The code of an error in the formats of OAuth, Google, Azure and AWS. Anything else may be text with a part of a secret. */
function errorCodeIn(text: string): string | undefined {
  const code =
    /"error"\s*:\s*"(\w{1,60})"/.exec(text) ??
    /"(?:status|code|Code)"\s*:\s*"(\w{1,60})"/.exec(text) ??
    /<Code>([\w.]{1,60})<\/Code>/.exec(text);
  return code?.[1];
}
