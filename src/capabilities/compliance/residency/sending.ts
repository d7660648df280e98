/** One request, passed on to another server while it arrives. */
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

export interface SendingBounds {
  /** So many at once are enough; each has two connections. */
  readonly underWayMax: number;
  /** TLS included. */
  readonly connectWithinMs: number;
  /** How long a peer may neither take nor give a byte, once it is its turn. */
  readonly silenceMs: number;
}
export const usualBounds: SendingBounds = { underWayMax: 1_000, connectWithinMs: 5_000, silenceMs: 30_000 };

/** Well below the time after which a peer closes an idle connection, so that none is used in that moment. */
const idleMs = 15_000;

export interface PeerAgents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Whatever is under way has a connection at once: waiting for one would look like a peer that is away. */
export function createPeerAgents({ underWayMax }: SendingBounds): PeerAgents {
  const options = { keepAlive: true, maxSockets: underWayMax, timeout: idleMs };
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

export interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly origin: string;
  /** What this region vouches for. */
  readonly mark: string;
  readonly bounds: SendingBounds;
  onBegin(): void;
  /** Called once for each beginning, when nothing more goes in either direction. */
  onEnd(): void;
}

/** Resolves with the answer as soon as its head is there; throws if there is none. */
export async function sendOn(agents: PeerAgents, passage: Passage): Promise<IncomingMessage> {
  const { request, response, onBegin, onEnd } = passage;
  const outgoing = open(agents, passage);
  onBegin();
  outgoing.once('close', onEnd);
  return new Promise((resolve, reject) => {
    let begun: IncomingMessage | undefined;
    const giveUp = (error: Error) => {
      // What the client still sends is read and thrown away, so that it gets to read its answer.
      request.unpipe(outgoing);
      request.resume();
      // An answer that is here whole is passed on, whatever the peer does next. Node would drop what was not read yet.
      if (begun?.complete !== true) {
        outgoing.destroy();
        begun?.destroy(error);
      }
      reject(error);
    };
    outgoing.on('error', giveUp);
    // A peer that wants to speak another protocol is let go of without an error.
    const letGoOf = () => giveUp(new Error('it ended without an answer'));
    outgoing.once('close', letGoOf);
    boundInterimResponses(outgoing);
    outgoing.once('response', (answer: IncomingMessage) => {
      outgoing.off('close', letGoOf);
      begun = answer;
      // The body that the client was never asked for does not come.
      answer.once('end', () => request.headers.expect !== undefined && outgoing.destroy());
      resolve(answer);
    });
    giveUpOnSilence(outgoing, passage, giveUp);
    // A client that has gone away takes its request along.
    response.once('close', () => {
      if (!response.writableFinished) {
        outgoing.destroy();
      }
    });
    const breakOff = () => giveUp(breakageOf(request) ?? new Error('the body broke off'));
    onBroken(request, breakOff);
    // Either may have happened while it was found out where the request belongs.
    if (isBroken(request) || response.destroyed) {
      breakOff();
    } else {
      passBody(passage, outgoing);
    }
  });
}

function open(agents: PeerAgents, { request, origin, mark, bounds }: Passage): ClientRequest {
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

/** What a message says of its connection to us only, beside what is always about that. */
export function connectionHeaders({ headers }: IncomingMessage): ReadonlySet<string> {
  const named = headers.connection?.toLowerCase().split(',') ?? [];
  return new Set(named.map((name) => name.trim()));
}

/** About one connection only, or said by the mark. */
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

/** Line by line as they were sent: a header that was sent twice is for the home region to refuse. */
function headersFor(request: IncomingMessage, host: string, mark: string): string[] {
  const lines = ['host', host, forwardHeader, mark];
  const { rawHeaders } = request;
  const ofConnection = connectionHeaders(request);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]];
    const lower = name.toLowerCase();
    if (!dropped.has(lower) && !ofConnection.has(lower)) {
      lines.push(name, value);
    }
  }
  if (request.headers['transfer-encoding'] !== undefined) {
    lines.push('transfer-encoding', 'chunked');
  }
  return lines;
}

function passBody({ request, response }: Passage, outgoing: ClientRequest): void {
  if (request.headers.expect === undefined) {
    request.pipe(outgoing);
  } else {
    // The client waits for permission to send its body, which is the home region's to give.
    outgoing.flushHeaders();
    outgoing.once('continue', () => {
      response.writeContinue();
      delete request.headers.expect;
      request.pipe(outgoing);
    });
  }
}

function giveUpOnSilence(
  outgoing: ClientRequest,
  { request, response, bounds: { connectWithinMs } }: Passage,
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
    // A client that is slow, to send or to read, is not the peer's fault, and the server's own to bound.
    const isReadSlowly =
      answer !== undefined && (answer.isPaused() || answer.readableLength > 0 || response.writableLength > 0);
    if (!isReadSlowly && (request.complete || outgoing.writableNeedDrain)) {
      giveUp(new Error('it has gone silent'));
    }
  });
}
