/** Reads the text of a file, of a URL, or of standard input, up to a maximum size. */
import { createReadStream } from 'node:fs';
import { createOutboundFetch } from '../platform/outbound/fetch.ts';

/** Several times the size of the largest public price list. */
const sourceBytesMax = 64 * 1024 * 1024;
const downloadTimeoutMs = 60_000;

/**
 * Reads a source. URLs follow the rules of all outgoing requests: https, public addresses, no redirects. `http` is only allowed if
 * private networks are.
 */
export async function readSource(source: string, allowPrivateNetworks: boolean): Promise<string> {
  const bytes = /^https?:/i.test(source)
    ? await download(source, allowPrivateNetworks)
    : await readStream(source === '-' ? process.stdin : createReadStream(source));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${source} is not UTF-8 text`);
  }
}

async function download(source: string, allowPrivateNetworks: boolean): Promise<Uint8Array> {
  if (!URL.canParse(source)) {
    throw new Error(`${source} is not a URL`);
  }
  const url = new URL(source);
  if (url.protocol !== 'https:' && !allowPrivateNetworks) {
    throw new Error(`${source}: must start with https://. Or download the list, and pass the file.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('the URL must not contain credentials. Download the list, and pass the file.');
  }
  const fetchBounded = createOutboundFetch({
    allowPrivateNetworks,
    timeoutMs: downloadTimeoutMs,
    bytesMax: sourceBytesMax,
  });
  const response = await fetchBounded(url.href, { headers: { accept: 'application/json' } }).catch(
    (error: Error) => {
      throw new Error(`${source} could not be downloaded: ${error.message}`);
    },
  );
  if (response.status !== 200) {
    throw new Error(
      `${source} returned ${response.status}${response.status < 400 ? '; redirects are not followed' : ''}`,
    );
  }
  return new Uint8Array(await response.arrayBuffer());
}

async function readStream(stream: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.length;
    if (bytes > sourceBytesMax) {
      throw new Error(`the price list is larger than ${sourceBytesMax} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
