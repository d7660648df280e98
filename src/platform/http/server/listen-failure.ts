/** Explains why a port cannot be opened. */

const remedies: Readonly<Record<string, (port: string) => string>> = {
  EADDRINUSE: (port) => `Another process uses this port: stop it, or set ${port} to another one.`,
  EACCES: (port) => `This user may not open this port: set ${port} to one above 1023.`,
  EADDRNOTAVAIL: () => 'This machine does not have this address: set SVC_HOST to one that it has.',
};

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The setting that chooses the port. */
  readonly portSetting: 'SVC_PORT' | 'SVC_HEALTH_PORT';
}

export function listenFailure({ host, port, portSetting }: ListenAddress, error: unknown): Error {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const remedy = remedies[code]?.(portSetting) ?? `Check SVC_HOST and ${portSetting}.`;
  return new Error(`cannot listen on ${host}:${port} (SVC_HOST, ${portSetting}): ${message}. ${remedy}`, {
    cause: error,
  });
}
