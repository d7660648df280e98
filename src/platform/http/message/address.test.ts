import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { addressBlock, addressList, clientAddress, isListed, parseCidr } from './address.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe('the client address', () => {
  const proxies = addressList(['10.0.0.0/8', '::1']);
  test.each([
    ['198.51.100.1', '192.0.2.1', '198.51.100.1', 'a header from an untrusted peer is not believed'],
    ['10.0.0.1', '192.0.2.1', '192.0.2.1', 'a trusted proxy is'],
    ['::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1', 'also when it arrives on an IPv6 socket'],
    ['10.0.0.1', '203.0.113.66, 192.0.2.1, 10.9.9.9', '192.0.2.1', 'the rightmost untrusted hop counts'],
    ['10.0.0.1', 'nonsense', '10.0.0.1', 'what is no address is not believed'],
    ['10.0.0.1', '192.0.2.1, nonsense', '10.0.0.1', 'nor anything left of it'],
    ['10.0.0.1', undefined, '10.0.0.1', 'without a header the proxy itself is the client'],
    ['::1', '2001:db8::7', '2001:db8::7', 'IPv6 works the same'],
    ['10.0.0.1', '10.0.0.2', '10.0.0.2', 'a chain of proxies alone ends at the first'],
  ])(
    '%s forwarding %s is %s: %s',
    (peer: string, forwarded: string | undefined, expected: string, _why: string) => {
      expect(clientAddress(request(peer, forwarded), proxies)).toBe(expected);
    },
  );
});

test.each([
  ['10.0.0.0/8', { address: '10.0.0.0', prefix: 8, family: 'ipv4' }],
  ['192.0.2.1', { address: '192.0.2.1', prefix: 32, family: 'ipv4' }],
  ['2001:db8::/32', { address: '2001:db8::', prefix: 32, family: 'ipv6' }],
  ['::ffff:192.0.2.1', { address: '192.0.2.1', prefix: 32, family: 'ipv4' }],
  ['0.0.0.0/0', { address: '0.0.0.0', prefix: 0, family: 'ipv4' }],
  ['10.0.0.0/', undefined],
  ['10.0.0.0/33', undefined],
  ['10.0.0.0/-1', undefined],
  ['10.0.0.0/8/8', undefined],
  ['::/129', undefined],
  ['::ffff:192.0.2.0/24', undefined],
  ['::ffff:192.0.2.0/120', { address: '192.0.2.0', prefix: 24, family: 'ipv4' }],
  ['fe80::1%eth0', undefined],
  ['127.0.0.0/08', undefined],
  ['localhost', undefined],
  ['', undefined],
])('parseCidr(%s)', (text, expected) => {
  expect(parseCidr(text)).toEqual(expected);
});

test('an address never matches a list of the other family', () => {
  expect(isListed(addressList(['0.0.0.0/0']), '2001:db8::1')).toBe(false);
  expect(isListed(addressList(['::/0']), '192.0.2.1')).toBe(false);
  expect(isListed(addressList(['::/0']), '2001:db8::1')).toBe(true);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('addressBlock(%s) is %s', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});
