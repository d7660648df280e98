/** Checks of the running service, or of the port that it would listen on. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Check, type Finding, fail, ok, skip } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const serviceChecks: readonly Check[] = [
  { id: 'service', run: checkService },
  { id: 'port', run: checkPort },
];

function checkService({ service, serviceUrl }: InspectedDeployment): Finding {
  if (service === undefined) {
    return skip(`No service responds at ${serviceUrl}.`);
  }
  return service.readyStatus === 200
    ? ok(`Running and ready at ${service.url}.`)
    : fail(
        `Running at ${service.url}, but not ready: ${service.readyBody}`,
        'See the checks of the database and the disk below, and the log of the service.',
      );
}

async function checkPort({ config: { host, port }, service }: InspectedDeployment): Promise<Finding> {
  if (service !== undefined || port === 0) {
    return ok(port === 0 ? 'SVC_PORT is 0: a free port is chosen.' : 'The service listens on it.');
  }
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, 'listening');
    return ok(`${host}:${port} is free.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(
      code === 'EADDRINUSE'
        ? `Another program listens on ${host}:${port}.`
        : `Cannot listen on ${host}:${port}: ${code}.`,
      'Stop that program, or set SVC_HOST and SVC_PORT to an address and a port that this user may use.',
    );
  } finally {
    probe.close();
  }
}
