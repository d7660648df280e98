// @ts-check
/**
 * The floor: what `node:http` alone can do. It reads and parses a body where there is one, and answers with bytes
 * that it was given. Plain JavaScript, so that it runs without a loader, as the built service does.
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
