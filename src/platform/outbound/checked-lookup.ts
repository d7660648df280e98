/** A DNS lookup that rejects names with addresses that must not be connected to. */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { type AddressRules, isAllowedAddress } from './addresses.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export interface LookupOptions extends AddressRules {
  readonly resolve?: Resolve | undefined;
}

export class AddressNotAllowed extends Error {}
export class NameNotResolved extends Error {}

/** Resolves a name once, checks every address, and returns exactly these addresses for the connection, against DNS rebinding. */
export function checkedLookup(options: LookupOptions): LookupFunction {
  const resolve = options.resolve ?? (options.allowPrivateNetworks ? resolveBySystem : resolveByDns);
  return (hostname, wanted, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) {
          callback(new NameNotResolved(`no address for ${hostname}`), '', 0);
        } else if (!addresses.every(({ address }) => isAllowedAddress(address, options))) {
          // A single forbidden address rejects the name, because it is not there by accident.
          callback(new AddressNotAllowed(`${hostname} resolves to an address that is not allowed`), '', 0);
        } else if (wanted.all === true) {
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

/** Resolves by DNS, not by the few threads of the system's resolver, so that a slow name does not delay others. */
async function resolveByDns(hostname: string): Promise<readonly ResolvedAddress[]> {
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

/** Resolves by the system, because private networks also use other sources of names, such as the hosts file. */
async function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  return systemLookup(hostname, { all: true });
}
