/** The surroundings of this process: its files, its network and the addresses of the services that issue tokens. */
import { readFile } from 'node:fs/promises';
import { createOutboundFetch } from '../outbound/fetch.ts';
import { publicEndpoints, type Surroundings } from './credential-source.ts';

/** A metadata service answers at once, or is not there. */
const timeoutMs = 5_000;

export function createSurroundings(
  given: Pick<Surroundings, 'variables' | 'tokenFiles' | 'nowMs'>,
): Surroundings {
  return {
    ...given,
    endpoints: publicEndpoints,
    fetch: createOutboundFetch({ allowPrivateNetworks: true, allowMetadata: true, timeoutMs }),
    readFile: (path) => readFile(path, 'utf8'),
  };
}
