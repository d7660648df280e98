/** A port for a server that must know its port before it listens. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral ports, so that the system does not assign the port to a connection before the server listens. */
const lowest = 20_000;
const count = 10_000;
/** Each process starts at a different port: two processes that search at the same time must not find the same port. */
const portsPerProcess = 64;
let next = (process.pid * portsPerProcess) % count;

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < count; tried += 1) {
    const port = lowest + next;
    next = (next + 1) % count;
    if (await isFree(port)) {
      return port;
    }
  }
  throw new Error(`no port from ${lowest} to ${lowest + count - 1} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  probe.listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
