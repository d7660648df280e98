/** Streams one request to another server while it arrives. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { breakageOf, isBroken, onBroken } from '../../../platform/http/message/body.ts';
import { forwardHeader } from '../../../platform/http/pipeline/regions.ts';
import { boundInterimResponses } from '../../../platform/outbound/interim-responses.ts';
import { type ForwardMark, trailerBytes } from './forward-mark.ts';

export interface SendingBounds {
  /** Maximum number of requests in flight; each needs two connections. */
  readonly inFlightMax: number;
  /** Maximum time to connect, including TLS. */
  readonly connectWithinMs: number;
  /** Maximum time that a peer that should read or send may do neither. */
  readonly silenceMs: number;
}
export const usualBounds: SendingBounds = { inFlightMax: 1_000, connectWithinMs: 5_000, silenceMs: 30_000 };

/**
 * Well below the time after which a peer closes idle connections, so that a connection is not reused while it is being
 * closed.
 */
const idleMs = 15_000;

export interface PeerAgents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/**
 * Creates the agents. Every request in flight gets a connection immediately, because waiting for one would look like an unreachable
 * peer.
 */
export function createPeerAgents({ inFlightMax }: SendingBounds): PeerAgents {
  const options = { keepAlive: true, maxSockets: inFlightMax, timeout: idleMs };
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly origin: string;
  /** The signed header of this region, and the signature of the body. */
  readonly mark: ForwardMark;
  readonly bounds: SendingBounds;
  onBegin(): void;
  /** Called once per started request, when both directions have ended. */
  onEnd(): void;
}

/** Sends the request. Resolves with the response as soon as its head arrives; rejects if there is none. */
export async function sendToPeer(agents: PeerAgents, forwarded: ForwardedRequest): Promise<IncomingMessage> {
  const { request, response, onBegin, onEnd } = forwarded;
  const outgoing = open(agents, forwarded);
  onBegin();
  outgoing.once('close', onEnd);
  return new Promise((resolve, reject) => {
    let begun: IncomingMessage | undefined;
    const giveUp = (error: Error) => {
      // The rest of the client's body is read and discarded, so that the client can read its response.
      request.unpipe();
      request.resume();
      // A response that arrived completely is passed on even if the peer fails afterwards: destroying it would drop the
      // unread part.
      if (begun?.complete !== true) {
        outgoing.destroy();
        begun?.destroy(error);
      }
      reject(error);
    };
    outgoing.on('error', giveUp);
    // If the peer upgrades the protocol, the request is closed without an error event.
    const onEarlyClose = () => giveUp(new Error('it closed the connection without a response'));
    outgoing.once('close', onEarlyClose);
    boundInterimResponses(outgoing);
    outgoing.once('response', (answer: IncomingMessage) => {
      outgoing.off('close', onEarlyClose);
      begun = answer;
      // If the `Expect` header is still set, the client was never asked to continue, so its body will not arrive.
      answer.once('end', () => request.headers.expect !== undefined && outgoing.destroy());
      resolve(answer);
    });
    giveUpOnSilence(outgoing, forwarded, giveUp);
    // If the client disconnects, the request to the peer is aborted.
    response.once('close', () => {
      if (!response.writableFinished) {
        outgoing.destroy();
      }
    });
    const breakOff = () => giveUp(breakageOf(request) ?? new Error('the request body was interrupted'));
    onBroken(request, breakOff);
    // The client may have disconnected, or its body may have broken off, while the home region was looked up.
    if (isBroken(request) || response.destroyed) {
      breakOff();
    } else {
      passBody(forwarded, outgoing);
    }
  });
}

function open(agents: PeerAgents, { request, origin, mark, bounds }: ForwardedRequest): ClientRequest {
  const url = new URL(origin);
  const isSecure = url.protocol === 'https:';
  return (isSecure ? httpsRequest : httpRequest)({
    ...urlToHttpOptions(url),
    agent: isSecure ? agents.https : agents.http,
    method: request.method,
    path: request.url,
    headers: headersFor(request, url.host, mark),
    timeout: bounds.silenceMs,
  });
}

/** Names of the headers that a message declares as specific to its connection. */
export function connectionHeaders({ headers }: IncomingMessage): ReadonlySet<string> {
  const named = headers.connection?.toLowerCase().split(',') ?? [];
  return new Set(named.map((name) => name.trim()));
}

/** Headers that are not forwarded: they are about a single connection, or the signed header contains them. */
const dropped = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'forwarded',
  'x-forwarded-for',
  forwardHeader,
]);

/** Header lines are kept as they were sent: a duplicate header is for the home region to reject. */
function headersFor(request: IncomingMessage, host: string, mark: ForwardMark): string[] {
  const lines = ['host', host, forwardHeader, mark.header];
  const { rawHeaders } = request;
  const ofConnection = connectionHeaders(request);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]];
    const lower = name.toLowerCase();
    if (lower === 'content-length' && mark.signBody !== undefined) {
      lines.push(name, String(Number(value) + trailerBytes));
    } else if (!dropped.has(lower) && !ofConnection.has(lower)) {
      lines.push(name, value);
    }
  }
  if (request.headers['transfer-encoding'] !== undefined) {
    lines.push('transfer-encoding', 'chunked');
  }
  return lines;
}

function passBody({ request, response, mark }: ForwardedRequest, outgoing: ClientRequest): void {
  const pass = () =>
    mark.signBody === undefined ? request.pipe(outgoing) : request.pipe(mark.signBody()).pipe(outgoing);
  if (request.headers.expect === undefined) {
    pass();
  } else {
    // The client waits for `100 Continue`, which only the home region can send.
    outgoing.flushHeaders();
    outgoing.once('continue', () => {
      response.writeContinue();
      delete request.headers.expect;
      pass();
    });
  }
}

function giveUpOnSilence(
  outgoing: ClientRequest,
  { request, response, bounds: { connectWithinMs } }: ForwardedRequest,
  giveUp: (error: Error) => void,
): void {
  const connecting = setTimeout(() => giveUp(new Error('it took too long to connect')), connectWithinMs);
  outgoing.once('close', () => clearTimeout(connecting));
  outgoing.once('socket', (socket) => {
    if (socket.connecting) {
      const isReady = 'encrypted' in socket ? 'secureConnect' : 'connect';
      socket.once(isReady, () => clearTimeout(connecting));
    } else {
      clearTimeout(connecting);
    }
  });
  let answer: IncomingMessage | undefined;
  outgoing.once('response', (begun: IncomingMessage) => {
    answer = begun;
  });
  outgoing.on('timeout', () => {
    // A client that sends or reads slowly is not a failure of the peer; the server has its own limits for clients.
    const isReadSlowly =
      answer !== undefined && (answer.isPaused() || answer.readableLength > 0 || response.writableLength > 0);
    if (!isReadSlowly && (request.complete || outgoing.writableNeedDrain)) {
      giveUp(new Error('it stopped responding'));
    }
  });
}
