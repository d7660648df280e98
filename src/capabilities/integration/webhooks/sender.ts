/**
 * Sends one attempt: a POST with a total timeout, to an address that is checked when connecting, whose response is read
 * up to a bound. Redirects are not followed. Never throws: the outcome is a value.
 *
 * Connections are reused for the next delivery to the same receiver, at the address that was checked.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { performance } from 'node:perf_hooks';
import { mayConnect } from '../../../platform/outbound/addresses.ts';
import {
  AddressNotAllowed,
  checkedLookup,
  NameNotResolved,
  type Resolve,
} from '../../../platform/outbound/checked-lookup.ts';
import { boundInterimResponses } from '../../../platform/outbound/interim-responses.ts';
import type { Answer } from './answer.ts';
import type { AttemptError } from './schema.ts';

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Sender {
  send(post: Post): Promise<Answer>;
  /** Aborts attempts in flight; new ones fail. */
  close(): void;
}

export interface SenderOptions {
  readonly allowPrivateNetworks: boolean;
  /** Resolves a host name to addresses. */
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
}

const totalTimeoutMs = 15_000;
const answerBytesMax = 64 * 1_024;
const answerBytesKept = 1_024;
/** Shorter than the five seconds after which common servers close an idle connection. */
const idleConnectionMs = 4_000;
const idleConnectionsPerReceiver = 8;

export function createSender(options: SenderOptions): Sender {
  const { allowPrivateNetworks, timeoutMs = totalTimeoutMs } = options;
  const agentOptions = {
    keepAlive: true,
    timeout: idleConnectionMs,
    maxFreeSockets: idleConnectionsPerReceiver,
    lookup: checkedLookup(options),
  };
  const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

  let isClosed = false;

  function post({ url, headers, body }: Post): ClientRequest {
    const { protocol } = new URL(url);
    const settings = {
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
      agent: protocol === 'http:' ? agents['http:'] : agents['https:'],
    };
    return protocol === 'http:' ? httpRequest(url, settings) : httpsRequest(url, settings);
  }

  async function send(message: Post): Promise<Answer> {
    const startedMs = performance.now();
    const done = (result: Omit<Answer, 'latencyMs'>): Answer => ({
      ...result,
      latencyMs: Math.round(performance.now() - startedMs),
    });
    const nothing = { status: null, response: null, retryAfter: undefined };
    if (!mayConnect(new URL(message.url), { allowPrivateNetworks })) {
      return done({ ...nothing, error: 'address_not_allowed' });
    }
    while (!isClosed) {
      const request = post(message);
      const leftMs = timeoutMs - (performance.now() - startedMs);
      try {
        return done(await exchange(request, message.body, leftMs));
      } catch (error) {
        // Most likely the receiver closed an idle connection while it was being reused, without reading this request.
        if (request.reusedSocket && isReset(error)) {
          continue;
        }
        return done({ ...nothing, error: attemptError(error) });
      }
    }
    return done({ ...nothing, error: 'connection_reset' });
  }

  return {
    send,
    close() {
      isClosed = true;
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

class TimedOut extends Error {}

class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
}

/**
 * Resolves with the response within the timeout; rejects if no status was received. Always settles, whatever the
 * receiver does.
 */
function exchange(
  request: ClientRequest,
  body: Buffer,
  timeoutMs: number,
): Promise<Omit<Answer, 'latencyMs'>> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    // Once a status was received there is a response, and its reader is notified of the abort instead.
    const fail = (error: Error) => {
      if (!isAnswered) {
        clearTimeout(timer);
        reject(error);
      }
    };
    const timer = setTimeout(
      () => {
        const error = new TimedOut();
        fail(error);
        request.destroy(error);
      },
      Math.max(0, timeoutMs),
    );
    const answer = (response: IncomingMessage, beginning: Buffer) => {
      clearTimeout(timer);
      resolve({
        status: response.statusCode ?? null,
        error: null,
        response: printable(beginning),
        retryAfter: response.headers['retry-after'],
      });
    };
    request.on('error', fail);
    boundInterimResponses(request);
    // After some failures `close` is the only event.
    request.on('close', () => fail(new ConnectionLost()));
    // Upgrades are not supported: the status is kept, and the attempt is not a success.
    request.on('upgrade', (response, socket) => {
      isAnswered = true;
      socket.destroy();
      answer(response, Buffer.alloc(0));
    });
    request.on('response', (response) => {
      isAnswered = true;
      readBeginning(response, (beginning) => {
        // The rest of a response that exceeds the bound is not read.
        if (!response.complete) {
          request.destroy();
        }
        answer(response, beginning);
      });
    });
    request.end(body);
  });
}

/** Calls back once with the first bytes, when the response has ended, is too long, or was aborted. */
function readBeginning(response: IncomingMessage, onBeginning: (beginning: Buffer) => void): void {
  const kept: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const finish = () => {
    if (!isDone) {
      isDone = true;
      onBeginning(Buffer.concat(kept).subarray(0, answerBytesKept));
    }
  };
  response.on('data', (chunk: Buffer) => {
    if (bytes < answerBytesKept) {
      kept.push(chunk);
    }
    bytes += chunk.length;
    if (bytes > answerBytesMax) {
      finish();
    }
  });
  response.on('end', finish);
  // The status was received, and counts even if the rest of the body is late or missing.
  response.on('error', finish);
  response.on('close', finish);
}

/** Returns text that can be stored and shown: control characters but tabs and line breaks are replaced. */
function printable(bytes: Buffer): string | null {
  const text = bytes
    .toString('utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must not stay.
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '\ufffd');
  return text === '' ? null : text;
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? '');
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

function attemptError(error: unknown): AttemptError {
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const code = codeOf(cause);
  if (cause instanceof TimedOut || code === 'ETIMEDOUT') {
    return 'timeout';
  }
  if (cause instanceof AddressNotAllowed) {
    return 'address_not_allowed';
  }
  if (cause instanceof NameNotResolved) {
    return 'name_not_resolved';
  }
  if (code === 'ECONNREFUSED') {
    return 'connection_refused';
  }
  if (isReset(cause)) {
    return 'connection_reset';
  }
  if (code.startsWith('HPE_')) {
    return 'invalid_answer';
  }
  return /CERT|TLS|SSL|SELF_SIGNED|ALTNAME/.test(code) ? 'tls' : 'network';
}
