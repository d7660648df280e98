/**
 * Sends requests to the home region of their org, before their body is read. Bodies go through in both directions as they
 * come, and no faster than the slower side takes them; nothing is kept.
 *
 * The home region does all checks itself. It learns the client's address and the trace id from a signed header, and does
 * not believe them without. A request that carries the header, whoever has written it, is not sent on: regions that do not
 * agree where an org is at home, or on their secret, would send it round and round.
 */
import type { IncomingMessage } from 'node:http';
import { Counter, type Registry } from 'prom-client';
import { ApiError, apiError } from '../../../contract/api-error.ts';
import type { StreamedReply } from '../../../platform/http/message/reply.ts';
import type { RequestHead } from '../../../platform/http/message/request-head.ts';
import { forwardHeader, type Regions, type ToSend } from '../../../platform/http/pipeline/regions.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { connectionHeaders, createPeerAgents, type SendingBounds, sendOn, usualBounds } from './sending.ts';
import { type PeerSecrets, type Statement, sha256, sign, verify } from './signatures.ts';

export interface ForwardingDependencies {
  readonly region: string;
  /** Where each other region is reached. */
  readonly peers: ReadonlyMap<string, string>;
  readonly secrets: PeerSecrets | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly bounds?: SendingBounds;
}

export interface Forwarding extends Regions {
  register(metrics: Registry): void;
}

const purpose = 'forward';

interface ForwardStatement extends Statement {
  readonly address: string;
  readonly traceId: string;
}

export function createForwarding({
  region,
  peers,
  secrets,
  clock,
  log,
  bounds = usualBounds,
}: ForwardingDependencies): Forwarding {
  const agents = createPeerAgents(bounds);
  const counts = new Map<string, number>();
  let underWay = 0;

  function count(homeRegion: string, outcome: 'answered' | 'refused'): void {
    // Only configured regions become labels: any name can be an org's home.
    const name = `${peers.has(homeRegion) ? homeRegion : 'unknown'} ${outcome}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  async function send(homeRegion: string, { request, response, address, traceId }: ToSend) {
    if (request.headers[forwardHeader] !== undefined) {
      throw unavailable('The regions do not agree where the organization is at home.');
    }
    const origin = peers.get(homeRegion);
    if (origin === undefined || secrets === undefined) {
      throw unavailable(`This region does not know how to reach ${homeRegion}.`);
    }
    if (underWay >= bounds.underWayMax) {
      throw unavailable('Too many requests are under way to other regions.');
    }
    const statement: ForwardStatement = {
      from: region,
      to: homeRegion,
      atMs: clock.now().getTime(),
      address,
      traceId,
    };
    const mark = sign(secrets, purpose, statement, partsOf(request));
    const answer = await sendOn(agents, {
      request,
      response,
      origin,
      mark,
      bounds,
      onBegin: () => (underWay += 1),
      onEnd: () => (underWay -= 1),
    });
    const answeredTrace = answer.headers['x-svc-trace-id'];
    const { statusCode = 0 } = answer;
    if (answeredTrace === undefined || statusCode < 200 || statusCode > 599) {
      // A proxy on the way, most likely, and none of our envelopes.
      answer.on('error', () => undefined);
      answer.destroy();
      throw new Error(`something that is no Purser answered ${answer.statusCode}`);
    }
    if (answer.destroyed && !answer.complete) {
      throw new Error('its answer broke off');
    }
    if (answeredTrace !== traceId) {
      log.warn({ traceId, answeredTrace, homeRegion }, 'a region did not believe what this one signed');
    }
    return answer;
  }

  return {
    received(request) {
      const signed = request.headers[forwardHeader];
      if (typeof signed !== 'string' || secrets === undefined) {
        return undefined;
      }
      const at = { region, nowMs: clock.now().getTime() };
      return verify<ForwardStatement>(secrets, purpose, signed, partsOf(request), at);
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
          // Nobody is left to hear it, and it says nothing of the region.
          throw unavailable('The client has left.');
        }
        count(homeRegion, 'refused');
        if (error instanceof ApiError) {
          throw error;
        }
        log.warn({ traceId: toSend.traceId, homeRegion, reason: String(error) }, 'a region is away');
        throw unavailable(`The home region, ${homeRegion}, cannot be reached.`);
      }
    },
    register(metrics) {
      new Counter({
        name: 'svc_region_forwards_total',
        help: 'Requests that belong into another region, by that region and whether it answered.',
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

/** The token is among them, so that a mark cannot be moved to a request of somebody else. */
function partsOf({ method = '', url = '', headers }: RequestHead): string[] {
  return [method, url, sha256(headers.authorization ?? ''), sha256(headers.cookie ?? '')];
}

function unavailable(message: string): ApiError {
  return apiError('service_unavailable', message);
}

/** About one connection only, or this region's own to say. */
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
