/**
 * Reads the fields of Protobuf messages. A small compressed body may contain millions of empty messages or unknown fields, and the caller
 * can pause only between two records; so the work for a request is bounded here.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Resources and scopes in a request. Exporters send a few. */
export const sectionsMax = 100_000;
/** Fields that are read from one record to the next, in messages of any kind. Usual records have a few hundred. */
export const fieldsMax = 1_000_000;

/** Counts what is read of one request, and throws if it exceeds the bounds. */
export class ReadingWork {
  #sections = 0;
  #fields = 0;

  countSection(): void {
    this.#sections += 1;
    if (this.#sections > sectionsMax) {
      throw new Error(`more than ${sectionsMax} resources and scopes`);
    }
  }

  countField(): void {
    this.#fields += 1;
    if (this.#fields > fieldsMax) {
      throw new Error(`more than ${fieldsMax} fields before the next record`);
    }
  }

  /** The caller can pause after a record, so the fields are counted from zero again. */
  recordRead(): void {
    this.#fields = 0;
  }
}

/** `onField` reads the field or passes over it. */
export function eachField(
  bytes: Uint8Array,
  work: ReadingWork,
  onField: (field: number, type: WireType, reader: BinaryReader) => void,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = nextTag(reader, work);
    onField(field, type, reader);
  }
}

/** Returns each occurrence of a field with a length: messages, texts, bytes. */
export function* messages(bytes: Uint8Array, work: ReadingWork, wanted: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = nextTag(reader, work);
    if (field === wanted && type === WireType.LengthDelimited) {
      yield reader.bytes();
    } else {
      reader.skip(type, field);
    }
  }
}

function nextTag(reader: BinaryReader, work: ReadingWork): [number, WireType] {
  work.countField();
  const tag = reader.tag();
  if (tag[1] === WireType.StartGroup) {
    // OTLP has no groups, and the reader would pass over all fields in one without counting them.
    throw new Error('groups are not supported');
  }
  return tag;
}
