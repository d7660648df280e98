/** Finding the addresses of a name so that nobody is led to one that must not be connected to. */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './addresses.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export interface LookupOptions {
  readonly allowPrivateNetworks: boolean;
  readonly resolve?: Resolve | undefined;
}

export class AddressNotAllowed extends Error {}
export class NameNotResolved extends Error {}

/** Asks once, checks every address, and hands over those very addresses to be connected to. */
export function checkedLookup({ allowPrivateNetworks, resolve: given }: LookupOptions): LookupFunction {
  const resolve = given ?? (allowPrivateNetworks ? resolveLikeTheMachine : resolveByDns);
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) {
          callback(new NameNotResolved(`no address for ${hostname}`), '', 0);
        } else if (!allowPrivateNetworks && !addresses.every(({ address }) => isPublicAddress(address))) {
          // One bad address among good ones is no accident.
          callback(new AddressNotAllowed(`${hostname} leads to an address that is not allowed`), '', 0);
        } else if (options.all === true) {
          callback(null, [...addresses]);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: NodeJS.ErrnoException) => callback(new NameNotResolved(error.message), '', 0),
    );
  };
}

const dnsTimeoutMs = 3_000;
const dnsTries = 2;

/** DNS and nothing else, without the few threads of the system's resolver: a slow name keeps nobody else waiting. */
async function resolveByDns(hostname: string): Promise<readonly Address[]> {
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: dnsTries });
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length === 0 && four.status === 'rejected') {
    throw four.reason;
  }
  return found;
}

/** Private networks name their machines in other ways too, such as the hosts file. */
async function resolveLikeTheMachine(hostname: string): Promise<readonly Address[]> {
  return systemLookup(hostname, { all: true });
}
