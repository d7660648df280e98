/**
 * Starts the service once its database can be used. Until then the port is open: `/healthz` returns 200 and everything else 503. So
 * an orchestrator neither restarts the process nor sends it requests.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config/settings.ts';
import { apiError } from '../contract/api-error.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { DatabaseNotOpened } from '../platform/db/open-database.ts';
import { errorReply } from '../platform/http/message/reply.ts';
import { newTraceId } from '../platform/http/message/trace-id.ts';
import { listenFailure } from '../platform/http/server/listen-failure.ts';
import { urlOf } from '../platform/http/server/local-url.ts';
import { createHttpServer } from '../platform/http/server/server.ts';
import type { Log } from '../platform/log.ts';

const retryAfterMs = { first: 250, max: 5_000 };

/** The port of the service. It is in use while the service waits for its database. */
export interface ReservedPort {
  readonly number: number;
  /** Must be called before the service listens. */
  free(): Promise<void>;
}

export interface WaitOptions {
  readonly config: Pick<Config, 'host' | 'port'>;
  readonly log: Log;
}

/** Calls `start` until it succeeds, or fails for a reason other than an unavailable database. */
export async function startWhenPossible<Started>(
  start: (port: ReservedPort) => Promise<Started>,
  { config, log }: WaitOptions,
): Promise<Started> {
  let waiting: WaitingServer | undefined;
  const port: ReservedPort = {
    // With port 0 the system chooses a port, which is then kept.
    get number() {
      return waiting?.port ?? config.port;
    },
    free: async () => waiting?.close(),
  };
  let lastReason: string | undefined;
  try {
    for (let waitMs = retryAfterMs.first; ; waitMs = Math.min(waitMs * 2, retryAfterMs.max)) {
      try {
        return await start(port);
      } catch (error) {
        if (!mayPass(error)) {
          throw error;
        }
        const { message } = error as Error;
        if (message !== lastReason) {
          lastReason = message;
          log.warn(`waiting for the database: ${message}`);
        }
      }
      waiting ??= await openWaitingServer(config, log);
      await pause(waitMs);
    }
  } finally {
    await port.free();
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof DatabaseNotOpened ? error.mayPass : error instanceof DatabaseUnavailable;
}

interface WaitingServer {
  readonly port: number;
  close(): Promise<void>;
}

async function openWaitingServer({ host, port }: WaitOptions['config'], log: Log): Promise<WaitingServer> {
  const server = createHttpServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const reply =
      path === '/healthz'
        ? statusReply(200, { status: 'ok' })
        : path === '/readyz'
          ? statusReply(503, { status: 'unavailable', database: 'down', draining: false })
          : errorReply(apiError('service_unavailable'));
    response.writeHead(reply.status, {
      ...reply.headers,
      'x-svc-trace-id': newTraceId(),
      connection: 'close',
    });
    response.end(request.method === 'HEAD' ? undefined : reply.body);
  }, log);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenFailure({ host, port, portSetting: 'SVC_PORT' }, error);
  }
  const { port: chosen } = server.address() as AddressInfo;
  log.info({ url: urlOf(host, chosen) }, 'the port is open; requests get 503 until the database can be used');
  let closing: Promise<unknown> | undefined;
  return {
    port: chosen,
    async close() {
      closing ??= new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await closing;
    },
  };
}

function statusReply(status: number, body: object) {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(body),
  };
}
