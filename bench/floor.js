// @ts-check
/**
 * The floor: the performance of `node:http` alone. It reads and parses the body, unless the request is a GET, and
 * responds with given bytes. Plain JavaScript, so that it runs without a loader, like the built service.
 */
import { createServer } from 'node:http';

/** @typedef {{ status: number, headers: string[], body: string }} Answer */

process.once('message', (/** @type {Answer} */ { status, headers, body }) => {
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(status, headers);
      response.end(body);
      return;
    }
    /** @type {Buffer[]} */
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString());
      response.writeHead(status, headers);
      response.end(body);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
});
process.once('disconnect', () => process.exit());
