/** The published test suite of Signature Version 4 (`aws-sig-v4-test-suite`). */
import { expect, test } from 'vitest';
import type { AwsCredential } from './credential.ts';
import { type AwsRequest, signAws } from './sign-aws.ts';

const credential: AwsCredential = {
  type: 'aws',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const sessionToken =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/' +
  'qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';
const scope = { region: 'us-east-1', service: 'service', atMs: Date.parse('2015-08-30T12:36:00Z') };

function signatureOf(
  method: string,
  path: string,
  rest: Partial<Pick<AwsRequest, 'headers' | 'body'>> = {},
  by: AwsCredential = credential,
): string {
  const headers = { ...rest.headers };
  const url = new URL(`https://example.amazonaws.com${path}`);
  signAws({ method, url, headers, body: rest.body }, by, scope);
  return String(headers.authorization);
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };

test.each([
  ['get-vanilla', 'GET', '/', {}, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'POST', '/', {}, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { headers: form, body: 'Param1=value1' },
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
])('%s has the published signature', (_, method, path, rest, signature) => {
  expect(signatureOf(method, path, rest)).toContain(`Signature=${signature}`);
});

test('the token of a session is sent and signed', () => {
  expect(signatureOf('POST', '/', {}, { ...credential, sessionToken })).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      'SignedHeaders=host;x-amz-date;x-amz-security-token, ' +
      'Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  );
});
