// @ts-check
/**
 * The floor of the gateway: a bare reverse proxy on `node:http` to the given port. It reads and parses the body of a request, since a
 * gateway has to know the model, replaces the credentials, and copies everything else. Plain JavaScript, like the other floor.
 */
import { Agent, createServer, request as send } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

process.once('message', (/** @type {{ port: number }} */ { port }) => {
  const server = createServer((request, response) => {
    /** @type {Buffer[]} */
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      JSON.parse(body.toString());
      const { connection, host, ...headers } = request.headers;
      const options = {
        port,
        host: '127.0.0.1',
        agent,
        method: request.method,
        path: request.url,
        headers: { ...headers, authorization: 'Bearer provider' },
      };
      const forwarded = send(options, (answer) => {
        const {
          connection: ofHop,
          'keep-alive': alsoOfHop,
          'transfer-encoding': framing,
          ...kept
        } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, kept);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      response.on('close', () => forwarded.destroy());
      forwarded.end(body);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
});
process.once('disconnect', () => process.exit());
