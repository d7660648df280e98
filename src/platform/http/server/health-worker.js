// @ts-check
/**
 * The thread of the health listener. It has its own event loop and its own queue of connections, so it answers at once,
 * however busy the main thread is and however many connections wait for it.
 */
import { createServer } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { answerHealth, monotonicMs } from './health-state.js';

/** Probes are few and short; anything beyond is not a probe. */
const connectionsMax = 100;
const requestWithinMs = 2_000;

const port = parentPort;
if (port === null) {
  throw new Error('this file only runs as a worker thread');
}
const notFound = {
  status: 404,
  body: JSON.stringify({
    error: { code: 'not_found', message: 'This port serves /healthz and /readyz only.' },
  }),
};

const server = createServer(
  { headersTimeout: requestWithinMs, requestTimeout: requestWithinMs, connectionsCheckingInterval: 500 },
  (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { status, body } =
      (isRead ? answerHealth(path, workerData.state, monotonicMs()) : undefined) ?? notFound;
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(body),
      // A probe per connection: an idle connection would take a place.
      connection: 'close',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  },
);
server.maxConnections = connectionsMax;
server.on('error', (/** @type {NodeJS.ErrnoException} */ { message, code }) =>
  port.postMessage({ error: message, code }),
);
server.listen(workerData.port, workerData.host, () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  port.postMessage({ port: address.port });
});
