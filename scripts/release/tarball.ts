/** Reads a package that `npm pack` has written, without unpacking it. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const blockBytes = 512;
const regularFile = ['0', '\0'];

/** Contents by path, without the folder `package` that npm puts around them. */
export function readTarball(file: string): Map<string, Buffer> {
  const bytes = gunzipSync(readFileSync(file));
  const files = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const field = (from: number, length: number) => {
      const text = bytes.subarray(at + from, at + from + length).toString('latin1');
      return text.split('\0')[0] ?? '';
    };
    const size = Number.parseInt(field(124, 12), 8);
    const type = bytes.subarray(at + 156, at + 157).toString('latin1');
    if (!regularFile.includes(type)) {
      throw new Error(`${file}: unexpected entry ${field(0, 100)} of type ${type}`);
    }
    const path = [field(345, 155), field(0, 100)].filter((part) => part !== '').join('/');
    files.set(path.replace(/^package\//, ''), bytes.subarray(at + blockBytes, at + blockBytes + size));
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
  }
  return files;
}
