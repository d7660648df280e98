/**
 * The addresses that may be connected to on behalf of an org, such as webhook receivers. IPv4: all except private, local and other
 * special ranges. IPv6: only global unicast without the ranges that map to IPv4 (mapped, NAT64, 6to4, Teredo), because those could
 * stand for any IPv4 address.
 */
import { BlockList, isIP } from 'node:net';

const special4 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT; metadata of some clouds
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // metadata of Azure, outside every special range
  ['169.254.0.0', 16], // link-local; metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
] as const) {
  special4.addSubnet(network, bits, 'ipv4');
}

const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

const special6 = new BlockList();
for (const [network, bits] of [
  ['2001::', 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // documentation
] as const) {
  special6.addSubnet(network, bits, 'ipv6');
}

/** Returns true for a public address; false also for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special4.check(address, 'ipv4');
    case 6:
      // Only local addresses have a zone (`%eth0`), which BlockList would ignore.
      return !address.includes('%') && global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Metadata services of clouds, which give credentials to everything on their machine. Each network has the link-local addresses. */
const metadata = new BlockList();
metadata.addSubnet('169.254.0.0', 16, 'ipv4');
metadata.addSubnet('fe80::', 10, 'ipv6');
metadata.addSubnet('fd00:ec2::', 32, 'ipv6');
metadata.addAddress('fd20:ce::254', 'ipv6');
for (const address of ['168.63.129.16', '100.100.100.200', '192.0.0.192']) {
  metadata.addAddress(address, 'ipv4');
}

export interface AddressRules {
  readonly allowPrivateNetworks: boolean;
  /** True only for requests for the credentials of this process. Metadata services have private addresses. */
  readonly allowMetadata?: boolean | undefined;
}

export function isAllowedAddress(
  address: string,
  { allowPrivateNetworks, allowMetadata = false }: AddressRules,
): boolean {
  return allowPrivateNetworks ? allowMetadata || !isMetadataAddress(address) : isPublicAddress(address);
}

function isMetadataAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  return metadata.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** Returns the IP address in a URL; undefined if its host is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

/**
 * Returns false if the IP address in a URL must not be connected to. The host is checked here because an address is never resolved;
 * a name is checked when it is resolved.
 */
export function mayConnect(url: URL, rules: AddressRules): boolean {
  const literal = literalAddress(url);
  return literal === undefined || isAllowedAddress(literal, rules);
}
