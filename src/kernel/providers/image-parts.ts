/** Counts images and documents of any format. What is neither an image of a known form nor a text is unseen. */
import { type Fields, fieldsOf } from './fields.ts';
import { type ImageDetail, imageTokens } from './image-tokens.ts';
import type { InputTally } from './input-tally.ts';

export interface ImageReading {
  readonly model: string;
  readonly tally: InputTally;
  readonly readUnknown: (value: unknown) => void;
}

const imageData = /^data:image\/[\w.+-]{1,40};base64,/i;
const imageType = /^image\//i;
const webAddress = /^https?:\/\//i;

/** Reads an image: its URL or its data, or an object with one of them as `url`. */
export function readImage(value: unknown, outerDetail: unknown, reading: ImageReading): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    addImage(value, [outerDetail], reading);
    return;
  }
  const { tally, readUnknown } = reading;
  const image = value as Fields;
  tally.parts += 1;
  for (const name in image) {
    tally.enter(name);
    if (name === 'url') {
      addImage(image.url, [outerDetail, image.detail], reading);
    } else if ((name === 'detail' || name === 'format') && typeof image[name] !== 'object') {
      tally.addScalar(image[name]);
    } else {
      tally.checkName(name);
      readUnknown(image[name]);
    }
    tally.leave();
  }
}

function addImage(
  url: unknown,
  details: readonly unknown[],
  { model, tally, readUnknown }: ImageReading,
): void {
  if (typeof url !== 'string') {
    readUnknown(url);
  } else if (imageData.test(url)) {
    const size = tally.sizeOfImage(url.slice(url.indexOf(',') + 1));
    tally.imageTokens += imageTokens(model, size, detailOf(details));
  } else if (webAddress.test(url)) {
    tally.imageTokens += imageTokens(model, undefined, detailOf(details));
    tally.addText(url);
  } else {
    readUnknown(url);
  }
}

/** Reads an image in base64. */
export function readImageBytes(value: unknown, { model, tally, readUnknown }: ImageReading): void {
  if (typeof value === 'string') {
    tally.imageTokens += imageTokens(model, tally.sizeOfImage(value), 'high');
  } else {
    readUnknown(value);
  }
}

/** Reads the media of a part of Gemini. */
export function readInlineMedia(value: unknown, { model, tally, readUnknown }: ImageReading): void {
  const media = fieldsOf(value);
  const { mimeType, mime_type: snakeType, data } = media;
  const types = [mimeType, snakeType].filter((type) => type != null);
  tally.parts += 1;
  const isImage = types.length > 0 && types.every((type) => imageType.test(String(type)));
  if (!isImage || typeof data !== 'string') {
    tally.markUnseen('media');
  } else {
    tally.imageTokens += imageTokens(model, tally.sizeOfImage(data), 'high');
  }
  for (const name in media) {
    tally.enter(name);
    if (inlineTexts.has(name) && typeof media[name] !== 'object') {
      tally.addScalar(media[name]);
    } else if (name !== 'data' || typeof data !== 'string') {
      tally.checkName(name);
      readUnknown(media[name]);
    }
    tally.leave();
  }
}

const inlineTexts = new Set(['mimeType', 'mime_type', 'displayName', 'display_name']);

/** Returns the largest of several contradictory details, because providers differ in the one that they use. */
function detailOf(details: readonly unknown[]): ImageDetail {
  let detail: ImageDetail = details.some((one) => one != null) ? 'low' : 'high';
  for (const one of details) {
    if (one === 'high' || one === 'auto') {
      detail = detail === 'original' ? detail : 'high';
    } else if (one != null && one !== 'low') {
      detail = 'original';
    }
  }
  return detail;
}

const unseenTypes = new Set<unknown>([
  ...['file', 'input_file', 'input_audio', 'document'],
  ...[
    'item_reference',
    'container_upload',
    'web_search_tool_result',
    'input_video',
    'video_url',
    'audio_url',
  ],
]);

/** Returns true if a part is media, except for a document that contains its text. */
export function isUnseenMedia({ type, source }: Fields): boolean {
  const { type: sourceType } = fieldsOf(source);
  return (
    unseenTypes.has(type) && !(type === 'document' && (sourceType === 'text' || sourceType === 'content'))
  );
}

/** The member with the content of a source of Anthropic, by the type of the source. */
const contentOfSource: Readonly<Record<'image' | 'document', Readonly<Record<string, string>>>> = {
  image: { base64: 'data', url: 'url' },
  document: { text: 'data', content: 'content' },
};

/** Reads the source of an image or of a document of Anthropic. `readContent` reads content that is written as blocks. */
export function readSource(
  source: Fields,
  kind: 'image' | 'document',
  { model, tally, readUnknown }: ImageReading,
  readContent = readUnknown,
): void {
  const type = String(source.type);
  const contentName = contentOfSource[kind][type];
  tally.parts += 1;
  for (const name in source) {
    const value = source[name];
    tally.enter(name);
    if ((name === 'type' || name === 'media_type') && typeof value !== 'object') {
      if (name === 'media_type' && kind === 'image' && !imageType.test(String(value))) {
        tally.markUnseen('media');
      }
      tally.addScalar(value);
    } else if (name === contentName && name === 'content') {
      readContent(value);
    } else if (name === contentName && typeof value === 'string') {
      if (type === 'text') {
        tally.addText(value);
      } else {
        const size = type === 'base64' ? tally.sizeOfImage(value) : undefined;
        tally.imageTokens += imageTokens(model, size, 'high');
        tally.addTextUnlessData(type === 'url' ? value : '');
      }
    } else if (name === 'data' && typeof value === 'string') {
      tally.markUnseen('media');
    } else {
      tally.checkName(name);
      readUnknown(value);
    }
    tally.leave();
  }
}
