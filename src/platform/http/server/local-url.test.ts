import { expect, test } from 'vitest';
import { literalUrl, localUrl } from './local-url.ts';

test.each([
  ['127.0.0.1', 'http://localhost:80', 'http://127.0.0.1:80'],
  ['0.0.0.0', 'http://localhost:80', 'http://127.0.0.1:80'],
  ['::', 'http://localhost:80', 'http://[::1]:80'],
  ['10.1.2.3', 'http://10.1.2.3:80', 'http://10.1.2.3:80'],
  ['fd00::1', 'http://[fd00::1]:80', 'http://[fd00::1]:80'],
])('%s is shown as a name, and called by IP address', (host, shown, called) => {
  expect([localUrl(host, 80), literalUrl(host, 80)]).toEqual([shown, called]);
});
