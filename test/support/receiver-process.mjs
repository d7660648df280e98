// @ts-nocheck: plain code, as a reader of the guide writes it.
// A receiver as a reader of docs/guides/webhooks.md would write it. The test sends it the secrets when their owner
// would get them; the receiver reports its verdict on each delivery to the test.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secrets = { org: undefined, own: undefined };
process.on('message', (told) => {
  Object.assign(secrets, told);
  process.send({ learned: true });
});

function isSigned(signed, signatures, secret) {
  const expected = createHmac('sha256', secret);
  for (const part of signed) {
    expected.update(part);
  }
  const digest = expected.digest();
  return signatures
    .filter((signature) => signature.length === 64)
    .some((signature) => timingSafeEqual(Buffer.from(signature, 'hex'), digest));
}

function judge(body, header) {
  const parts = header.split(',').map((part) => part.split('='));
  const [time] = parts.filter(([name]) => name === 't').map(([, value]) => value);
  const signatures = parts.filter(([name]) => name === 'v1').map(([, value]) => value);
  if (time === undefined) {
    return secrets.org === undefined
      ? 'unknown'
      : isSigned([body], signatures, secrets.org)
        ? 'right'
        : 'wrong';
  }
  if (secrets.own === undefined) {
    return 'unknown';
  }
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) <= 300;
  return isRecent && isSigned([`${time}.`, body], signatures, secrets.own) ? 'right' : 'wrong';
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const header = request.headers['x-svc-signature'];
    const verdict = judge(body, header);
    response.writeHead(verdict === 'right' ? 204 : verdict === 'wrong' ? 400 : 500).end();
    const version = request.headers['x-svc-event-version'];
    process.send({ verdict, version, header, body: body.toString('utf8'), id: JSON.parse(body).id });
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.once('disconnect', () => process.exit(1));
