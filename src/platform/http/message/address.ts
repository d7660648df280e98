/** Client addresses: determines the address of a client, and matches addresses against lists. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export interface Cidr {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address; returns undefined for anything else. */
export function parseCidr(text: string): Cidr | undefined {
  const [, written = '', prefixText] = /^([0-9a-fA-F.:]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const address = plainAddress(written);
  const version = isIP(address);
  if (version === 0) {
    return undefined;
  }
  const bits = version === 4 ? 32 : 128;
  // `::ffff:192.0.2.0/120` counts the bits of the IPv6 form.
  const mappedBits = isIP(written) === 6 && version === 4 ? 96 : 0;
  const prefix = prefixText === undefined ? bits : Number(prefixText) - mappedBits;
  if (prefix < 0 || prefix > bits) {
    return undefined;
  }
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Each family has a separate list, because in a single `BlockList` of Node `::/0` matches every IPv4 address. */
export interface AddressList {
  readonly ipv4: BlockList;
  readonly ipv6: BlockList;
}

/** Ignores entries that `parseCidr` does not accept. */
export function addressList(cidrs: readonly string[]): AddressList {
  const list: AddressList = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const text of cidrs) {
    const cidr = parseCidr(text);
    if (cidr !== undefined) {
      list[cidr.family].addSubnet(cidr.address, cidr.prefix, cidr.family);
    }
  }
  return list;
}

export function isListed(list: AddressList, address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return list[family].check(address, family);
}

/**
 * Returns the address of the client. It is the address of the socket. If that is a trusted proxy, it is the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy: addresses further left come from an untrusted party.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  trustedProxies: AddressList | undefined,
): string {
  let address = plainAddress(socket.remoteAddress ?? '');
  if (trustedProxies === undefined || isIP(address) === 0 || !isListed(trustedProxies, address)) {
    return address;
  }
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  for (const hop of forwarded.reverse()) {
    const candidate = plainAddress(hop.trim());
    if (isIP(candidate) === 0) {
      return address;
    }
    address = candidate;
    if (!isListed(trustedProxies, address)) {
      return address;
    }
  }
  return address;
}

/** Converts IPv4-mapped IPv6 (`::ffff:192.0.2.1`) to IPv4 and removes the zone (`fe80::1%eth0`). */
function plainAddress(address: string): string {
  if (!address.includes(':')) {
    return address;
  }
  const withoutZone = address.replace(/%.*$/, '');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(withoutZone);
  return mapped?.[1] ?? withoutZone;
}

/** Returns the block that one party controls: an IPv4 address, or the /64 of an IPv6 address. */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) {
    return address;
  }
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) {
      groups.push('0');
    }
    groups.push(...after);
  }
  return groups.slice(0, 4).join(':');
}
