/**
 * Forwards requests to the home region of their org before their body is read. Bodies are streamed in both directions with
 * backpressure; nothing is stored. The home region does all checks itself. It only takes the client's address and the trace id from
 * a signed header (`forward-mark.ts`), which it accepts once (`forward-nonces.ts`). A request with an invalid header is rejected. A
 * request that already has the header, from any sender, is not forwarded again, because regions that disagree about the home region
 * or the secret would forward it in a loop.
 */
import type { IncomingMessage } from 'node:http';
import { Counter, type Registry } from 'prom-client';
import { ApiError, apiError } from '../../../contract/api-error.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { StreamedReply } from '../../../platform/http/message/reply.ts';
import {
  forwardHeader,
  type Regions,
  type Sent,
  type ToSend,
} from '../../../platform/http/pipeline/regions.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { createMark, type VerifiedMark, verifyMark } from './forward-mark.ts';
import type { ForwardNonces } from './forward-nonces.ts';
import {
  connectionHeaders,
  createPeerAgents,
  type SendingBounds,
  sendToPeer,
  usualBounds,
} from './sending.ts';
import type { PeerSecrets } from './signatures.ts';

export interface ForwardingDependencies {
  readonly region: string;
  /** Base URL of each other region. */
  readonly peers: ReadonlyMap<string, string>;
  readonly secrets: PeerSecrets | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly bounds?: SendingBounds;
  readonly nonces: Pick<ForwardNonces, 'claim'>;
}

export interface Forwarding extends Regions {
  register(metrics: Registry): void;
}

export function createForwarding({
  region,
  peers,
  secrets,
  clock,
  log,
  bounds = usualBounds,
  nonces,
}: ForwardingDependencies): Forwarding {
  const agents = createPeerAgents(bounds);
  const counts = new Map<string, number>();
  const inFlight = new FairShare({ capacity: bounds.inFlightMax });

  function count(homeRegion: string, outcome: 'answered' | 'refused'): void {
    // Only configured regions become labels: an org's home region can be any name.
    const name = `${peers.has(homeRegion) ? homeRegion : 'unknown'} ${outcome}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  async function send(homeRegion: string, { request, response, address, traceId, credential }: ToSend) {
    if (request.headers[forwardHeader] !== undefined) {
      throw unavailable('The regions disagree about the home region of the organization.');
    }
    const origin = peers.get(homeRegion);
    if (origin === undefined || secrets === undefined) {
      throw unavailable(`The region ${homeRegion} is not configured here.`);
    }
    const tenant = credential?.org?.id ?? address;
    if (!inFlight.hasRoom(tenant)) {
      throw unavailable('Too many requests are being forwarded to other regions. Try again later.');
    }
    const atMs = clock.now().getTime();
    const mark = createMark(secrets, request, { from: region, to: homeRegion, atMs, address, traceId });
    const answer = await sendToPeer(agents, {
      request,
      response,
      origin,
      mark,
      bounds,
      onBegin: () => inFlight.take(tenant),
      onEnd: () => inFlight.release(tenant),
    });
    const answeredTrace = answer.headers['x-svc-trace-id'];
    const { statusCode = 0 } = answer;
    if (answeredTrace === undefined || statusCode < 200 || statusCode > 599) {
      // Most likely a response of a proxy, because it is not one of our error responses.
      answer.on('error', () => undefined);
      answer.destroy();
      throw new Error(`a server other than Purser returned ${answer.statusCode}`);
    }
    if (answer.destroyed && !answer.complete) {
      throw new Error('its response was interrupted');
    }
    if (answeredTrace !== traceId) {
      // The response is dropped: the other region does not accept the mark, so it knew neither the body nor the client's address.
      log.warn({ traceId, answeredTrace, homeRegion }, 'region rejected a request signed by this region');
      answer.on('error', () => undefined);
      answer.destroy();
      throw unavailable(
        `The home region ${homeRegion} did not accept the request. Check that both regions run the same release, have the same secret, and their clocks differ by less than a minute.`,
      );
    }
    return answer;
  }

  function sentWith({ from, address, traceId, bodyTrailer, nonce, atMs }: VerifiedMark): Sent {
    return {
      from,
      address,
      traceId,
      bodyTrailer,
      async acceptOnce() {
        if (!(await nonces.claim(nonce, atMs))) {
          log.warn({ traceId, from }, 'forwarded request was sent again');
          throw unacceptable('was already used');
        }
      },
    };
  }

  return {
    received(request) {
      const header = request.headers[forwardHeader];
      if (header === undefined) {
        return undefined;
      }
      const at = { region, nowMs: clock.now().getTime() };
      const mark = secrets && verifyMark(secrets, request, String(header), at);
      return mark === undefined ? { error: unacceptable('is not valid') } : sentWith(mark);
    },
    async forward(homeRegion, toSend): Promise<StreamedReply> {
      try {
        const answer = await send(homeRegion, toSend);
        count(homeRegion, 'answered');
        return {
          status: answer.statusCode ?? 0,
          headers: headersOf(answer),
          body: answer,
          servedBy: homeRegion,
        };
      } catch (error) {
        if (toSend.response.destroyed) {
          // The client does not receive this error, and the failure says nothing about the region.
          throw unavailable('The client disconnected.');
        }
        count(homeRegion, 'refused');
        if (error instanceof ApiError) {
          throw error;
        }
        log.warn({ traceId: toSend.traceId, homeRegion, reason: String(error) }, 'region unreachable');
        throw unavailable(`The home region ${homeRegion} cannot be reached. Try again later.`);
      }
    },
    register(metrics) {
      new Counter({
        name: 'svc_region_forwards_total',
        help: 'Requests for orgs with another home region, by region and outcome.',
        labelNames: ['region', 'outcome'],
        registers: [metrics],
        collect() {
          this.reset();
          for (const [name, value] of counts) {
            const [to = '', outcome = ''] = name.split(' ');
            this.inc({ region: to, outcome }, value);
          }
        },
      });
    },
  };
}

function unacceptable(problem: string): ApiError {
  return unavailable(`The header ${forwardHeader} ${problem}. Send the request again.`);
}

function unavailable(message: string): ApiError {
  return apiError('service_unavailable', message);
}

/** Headers about a single connection, or set by this region. */
const ownHeaders = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'date',
  'vary',
]);

function headersOf(answer: IncomingMessage): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  const ofConnection = connectionHeaders(answer);
  for (const [name, value] of Object.entries(answer.headers)) {
    const isOwn = ownHeaders.has(name) || ofConnection.has(name) || name.startsWith('access-control-');
    if (value !== undefined && !isOwn) {
      kept[name] = value;
    }
  }
  return kept;
}
