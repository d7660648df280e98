/** Bounds the interim responses (1xx) before the final one. A server that sends nothing else would keep a request busy. */
import type { ClientRequest } from 'node:http';

const interimResponsesMax = 100;

export function boundInterimResponses(request: ClientRequest): void {
  let received = 0;
  request.on('information', () => {
    received += 1;
    if (received > interimResponsesMax) {
      request.destroy(new Error(`more than ${interimResponsesMax} interim responses`));
    }
  });
}
