/** Reads the size of an image from its first bytes. */
import type { ImageSize } from '../../kernel/providers/image-tokens.ts';

/** Number of bytes in which every format has the size. A JPEG may have more data before it; its size is then unknown. */
const headBytes = 65_536;

/** Returns the size of a base64 image from its first bytes; undefined if they do not contain it. */
export function sizeOfBase64(data: string): ImageSize | undefined {
  const bytes = Buffer.from(data.slice(0, Math.ceil(headBytes / 3) * 4), 'base64');
  return sizeOfPng(bytes) ?? sizeOfGif(bytes) ?? sizeOfWebp(bytes) ?? sizeOfJpeg(bytes);
}

function sizeOfPng(bytes: Buffer): ImageSize | undefined {
  return bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;
}

function sizeOfGif(bytes: Buffer): ImageSize | undefined {
  return bytes.length >= 10 && bytes.toString('latin1', 0, 3) === 'GIF'
    ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : undefined;
}

function sizeOfWebp(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

function sizeOfJpeg(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) {
    return undefined;
  }
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}
