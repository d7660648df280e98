/**
 * One attempt: a POST whose whole time is bounded, to an address that was checked when the connection was made, and
 * whose answer is read up to a bound. Redirects are not followed. Never throws: what happened is a value.
 *
 * Connections are kept for the next delivery to the same receiver. They lead where they led when they were checked.
 */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { performance } from 'node:perf_hooks';
import { isPublicAddress, literalAddress } from './addresses.ts';
import type { AttemptError } from './schema.ts';

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Answer {
  /** Null where there was none. */
  readonly status: number | null;
  readonly error: AttemptError | null;
  readonly latencyMs: number;
  /** The first bytes. */
  readonly response: string | null;
  readonly retryAfter: string | undefined;
}

export interface Sender {
  send(post: Post): Promise<Answer>;
  /** Breaks off what is under way; nothing is sent any more. */
  close(): void;
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface SenderOptions {
  readonly allowPrivateNetworks: boolean;
  /** Finds the addresses of a name. */
  resolve?(hostname: string): Promise<readonly Address[]>;
  readonly timeoutMs?: number;
}

const totalTimeoutMs = 15_000;
const answerBytesMax = 64 * 1_024;
const answerBytesKept = 1_024;
/** Below the five seconds after which common servers close an idle connection. */
const idleConnectionMs = 4_000;
const idleConnectionsPerReceiver = 8;

class AddressNotAllowed extends Error {}
class NameNotResolved extends Error {}

export function createSender(options: SenderOptions): Sender {
  const { allowPrivateNetworks, timeoutMs = totalTimeoutMs } = options;
  const resolve = options.resolve ?? (allowPrivateNetworks ? resolveLikeTheMachine : resolveByDns);
  const agentOptions = {
    keepAlive: true,
    timeout: idleConnectionMs,
    maxFreeSockets: idleConnectionsPerReceiver,
    lookup: checkedLookup(resolve, allowPrivateNetworks),
  };
  const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

  let isClosed = false;

  /** `lookup` is not asked for what is an address already. */
  function mayConnect(url: URL): boolean {
    const literal = literalAddress(url);
    return allowPrivateNetworks || literal === undefined || isPublicAddress(literal);
  }

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
    const done = (told: Omit<Answer, 'latencyMs'>): Answer => ({
      ...told,
      latencyMs: Math.round(performance.now() - startedMs),
    });
    const nothing = { status: null, response: null, retryAfter: undefined };
    if (!mayConnect(new URL(message.url))) {
      return done({ ...nothing, error: 'address_not_allowed' });
    }
    while (!isClosed) {
      const request = post(message);
      const leftMs = timeoutMs - (performance.now() - startedMs);
      try {
        return done(await exchange(request, message.body, leftMs));
      } catch (error) {
        // The receiver closed an idle connection just when it was used again; it has not seen anything of this one.
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

/** Resolves with what was answered in time; rejects where not even a status was. Settles whatever the receiver does. */
function exchange(
  request: ClientRequest,
  body: Buffer,
  timeoutMs: number,
): Promise<Omit<Answer, 'latencyMs'>> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    // With a status there is an answer, and whoever reads it is told that it breaks off.
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
    // Some ends are told by nothing else.
    request.on('close', () => fail(new ConnectionLost()));
    // Nobody asked for another protocol: the status is all there is to it, and no success.
    request.on('upgrade', (response, socket) => {
      isAnswered = true;
      socket.destroy();
      answer(response, Buffer.alloc(0));
    });
    request.on('response', (response) => {
      isAnswered = true;
      readBeginning(response, (beginning) => {
        // Whatever comes after the bound is not waited for.
        if (!response.complete) {
          request.destroy();
        }
        answer(response, beginning);
      });
    });
    request.end(body);
  });
}

/** Tells the first bytes once, when the answer has ended, has become too long, or is broken off. */
function readBeginning(response: IncomingMessage, told: (beginning: Buffer) => void): void {
  const kept: Buffer[] = [];
  let bytes = 0;
  let isTold = false;
  const tell = () => {
    if (!isTold) {
      isTold = true;
      told(Buffer.concat(kept).subarray(0, answerBytesKept));
    }
  };
  response.on('data', (chunk: Buffer) => {
    if (bytes < answerBytesKept) {
      kept.push(chunk);
    }
    bytes += chunk.length;
    if (bytes > answerBytesMax) {
      tell();
    }
  });
  response.on('end', tell);
  // The status has been read: that the rest did not come, or not in time, changes nothing about it.
  response.on('error', tell);
  response.on('close', tell);
}

/** As text that can be stored and shown: without control characters, which could be anything. */
function printable(bytes: Buffer): string | null {
  const text = bytes
    .toString('utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must not stay.
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '\ufffd');
  return text === '' ? null : text;
}

/** Asks once, checks every address, and hands over those very addresses to be connected to. */
export function checkedLookup(
  resolve: (hostname: string) => Promise<readonly Address[]>,
  allowPrivateNetworks: boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) {
          callback(new NameNotResolved(`no address for ${hostname}`), '', 0);
        } else if (!allowPrivateNetworks && !addresses.every(({ address }) => isPublicAddress(address))) {
          // One bad address among good ones is no accident.
          callback(new AddressNotAllowed(`${hostname} leads to an address that is not allowed`), '', 0);
        } else if (options.all === true) {
          callback(null, [...addresses]);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: NodeJS.ErrnoException) => callback(new NameNotResolved(error.message), '', 0),
    );
  };
}

const dnsTimeoutMs = 3_000;
const dnsTries = 2;

/** DNS and nothing else, without the few threads of the system's resolver: a slow name keeps nobody else waiting. */
async function resolveByDns(hostname: string): Promise<readonly Address[]> {
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: dnsTries });
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length === 0 && four.status === 'rejected') {
    throw four.reason;
  }
  return found;
}

/** Private networks name their machines in other ways too, such as the hosts file. */
async function resolveLikeTheMachine(hostname: string): Promise<readonly Address[]> {
  return systemLookup(hostname, { all: true });
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
