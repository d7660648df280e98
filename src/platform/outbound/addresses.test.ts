import { expect, test } from 'vitest';
import { isAllowedAddress, mayConnect } from './addresses.ts';

const metadataUrls = [
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/',
  'http://169.254.170.23/',
  'http://168.63.129.16/',
  'http://100.100.100.200/',
  'http://2852039166/',
  'http://[::ffff:169.254.169.254]/',
  'http://[fd00:ec2::254]/',
  'http://[fd20:ce::254]/',
  'http://[fe80::a9fe:a9fe]/',
];

test.each(metadataUrls)(
  '%s is reached for credentials only, also where private networks are allowed',
  (url) => {
    const target = new URL(url);
    expect(mayConnect(target, { allowPrivateNetworks: false })).toBe(false);
    expect(mayConnect(target, { allowPrivateNetworks: true })).toBe(false);
    expect(mayConnect(target, { allowPrivateNetworks: true, allowMetadata: true })).toBe(true);
  },
);

test('other private addresses are allowed with private networks', () => {
  for (const address of ['127.0.0.1', '10.0.0.1', '100.64.0.1', '::1', 'fd12:3456::1']) {
    expect(isAllowedAddress(address, { allowPrivateNetworks: true }), address).toBe(true);
    expect(isAllowedAddress(address, { allowPrivateNetworks: false }), address).toBe(false);
  }
});
