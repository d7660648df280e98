import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from './webhooks.ts';

/** The test vectors are read from the published guide, so that the guide and the tests agree. */
const guide = readFileSync(new URL('../../../docs/guides/webhooks.md', import.meta.url), 'utf8');
const body = /printf '%s' '(\{.*?\})' > \.purser\/body\.json/.exec(guide)?.[1] ?? '';
const vectors = [...guide.matchAll(/^\| `(whsec_\w+)`.*\| `((?:t=|v1=)[^`]+)` \|$/gm)].map(
  ([, secret = '', header = '']) => ({ secret, header }),
);
const nowSeconds = 1_794_744_000;
const [own, overlap, org] = vectors as [Vector, Vector, Vector];
type Vector = (typeof vectors)[number];

const faultOf = (...args: Parameters<typeof verifyWebhook>) => {
  try {
    verifyWebhook(...args);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookVerificationError);
    return (error as WebhookVerificationError).fault;
  }
};

test('the published vectors verify, each with its secret, as text and as bytes', () => {
  expect(vectors).toHaveLength(3);
  for (const given of [body, Buffer.from(body)]) {
    const delivery = { body: given, nowSeconds };
    expect(verifyWebhook({ ...delivery, ...own }).type).toBe('webhook.test');
    expect(verifyWebhook({ ...delivery, ...overlap }).data).toEqual({ message: 'Grüße' });
    expect(faultOf({ ...delivery, header: overlap.header, secret: 'whsec_old' })).toBeUndefined();
    expect(faultOf({ ...delivery, header: own.header, secret: ['whsec_other', own.secret] })).toBeUndefined();
    expect(
      faultOf({ ...delivery, header: org.header, secret: own.secret, orgSecret: org.secret }),
    ).toBeUndefined();
  }
});

test('anything else does not', () => {
  const delivery = { body, nowSeconds, ...own };
  expect(faultOf({ ...delivery, body: body.replace('Grüße', 'Grüsse') })).toBe('wrong_signature');
  expect(faultOf({ ...delivery, secret: 'whsec_other' })).toBe('wrong_signature');
  expect(faultOf({ ...delivery, secret: [] })).toBe('wrong_signature');
  expect(faultOf({ ...delivery, header: own.header.replace('t=1', 't=2') })).toBe('wrong_signature');
  expect(faultOf({ ...delivery, header: own.header.slice(0, -1) })).toBe('wrong_signature');
  expect(
    faultOf({ ...delivery, header: own.header.toUpperCase().replace('T=', 't=').replace('V1=', 'v1=') }),
  ).toBe('wrong_signature');
  expect(faultOf({ ...delivery, header: undefined })).toBe('no_signature');
  expect(faultOf({ ...delivery, header: 't=1794744000' })).toBe('malformed_signature');
  expect(faultOf({ ...delivery, header: `t=soon,${org.header}` })).toBe('malformed_signature');
  expect(faultOf({ ...delivery, header: `t=1,${own.header}` })).toBe('malformed_signature');
});

test('a time that is too far off is refused, on either side, and only with a signature that is right', () => {
  const delivery = { body, ...own };
  expect(faultOf({ ...delivery, nowSeconds: nowSeconds + 300 })).toBeUndefined();
  expect(faultOf({ ...delivery, nowSeconds: nowSeconds + 301 })).toBe('too_old_or_new');
  expect(faultOf({ ...delivery, nowSeconds: nowSeconds - 301 })).toBe('too_old_or_new');
  expect(faultOf({ ...delivery, nowSeconds: nowSeconds + 10, toleranceSeconds: 9 })).toBe('too_old_or_new');
  expect(faultOf({ ...delivery })).toBe('too_old_or_new');
});

test('a delivery without a time is refused where the org secret is not given', () => {
  expect(faultOf({ body, header: org.header, secret: org.secret, nowSeconds })).toBe('wrong_signature');
  expect(faultOf({ body, header: own.header, secret: 'x', orgSecret: own.secret, nowSeconds })).toBe(
    'wrong_signature',
  );
});
