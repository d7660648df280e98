/**
 * Reads a request by the tables of its format. All text counts, whatever member it is in. What the tables do not know, and what is not in the
 * request, is unseen: it may be any content.
 */
import type { CallFormat } from './call-format.ts';
import { outputFields } from './call-request.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { allFormats } from './formats.ts';
import { isUnseenMedia, readImage, readImageBytes, readInlineMedia, readSource } from './image-parts.ts';
import type { InputTally } from './input-tally.ts';
import { referenceNames } from './known-members.ts';
import type { MemberKind, MemberTable, PartsOf } from './member-kinds.ts';

/** Members of settings that are free-form JSON. */
const jsonNames = new Set([
  ...['schema', 'parameters', 'input_schema', 'json_schema', 'headers', 'variables'],
  ...['parametersJsonSchema', 'parameters_json_schema', 'responseJsonSchema', 'response_json_schema'],
]);
/** Three of four characters of base64 are bytes. */
const bytesPerCharacter = 0.75;
/** Types of all formats, because a provider may read those of another one. */
const toolResultTypes = new Set<unknown>(allFormats.flatMap(({ tools }) => tools.resultTypes));

export function readRequest(format: CallFormat, body: Fields, model: string, tally: InputTally): void {
  new InputReader(format, model, tally).readObject(body, format.request.members.request);
}

class InputReader {
  readonly #format: CallFormat;
  readonly #model: string;
  readonly #tally: InputTally;

  constructor(format: CallFormat, model: string, tally: InputTally) {
    this.#format = format;
    this.#model = model;
    this.#tally = tally;
  }

  readObject(object: Fields, table: MemberTable): void {
    this.#tally.parts += 1;
    for (const name in object) {
      this.#tally.enter(name);
      const kind = table.get(name);
      if (kind === undefined) {
        this.#readUnknownMember(name, object[name]);
      } else {
        this.#read(object[name], kind, object);
      }
      this.#tally.leave();
    }
  }

  #read(value: unknown, kind: MemberKind, object: Fields): void {
    if (value === null || value === undefined) {
      this.#tally.addTokens(1);
    } else if (typeof kind !== 'string') {
      this.#readStructure(value, kind);
    } else {
      this.#readKind(value, kind, object);
    }
  }

  #readKind(value: NonNullable<unknown>, kind: MemberKind & string, object: Fields): void {
    switch (kind) {
      case 'text':
        this.#readTexts(value);
        break;
      case 'json':
        this.#tally.addText(typeof value === 'string' ? value : JSON.stringify(value));
        break;
      case 'settings':
        this.#readSettings(value);
        break;
      case 'encrypted':
        this.#readEncrypted(value);
        break;
      case 'blob':
        this.#readBlob(value);
        break;
      case 'reference':
        this.#tally.markUnseen('reference');
        this.#readSettings(value);
        break;
      case 'tool':
        if (value === false) {
          this.#tally.addScalar(value);
        } else {
          this.#readTool(value);
        }
        break;
      case 'tools':
        this.#readTools(value);
        break;
      case 'image':
        readImage(value, object.detail, this.#images);
        break;
      case 'imageSource':
        readSource(fieldsOf(value), 'image', this.#images);
        break;
      case 'imageBytes':
        readImageBytes(value, this.#images);
        break;
      case 'inlineMedia':
        readInlineMedia(value, this.#images);
        break;
    }
  }

  get #images() {
    return {
      model: this.#model,
      tally: this.#tally,
      readUnknown: (value: unknown) => this.#readUnknown(value),
    };
  }

  #readStructure(value: NonNullable<unknown>, kind: Exclude<MemberKind, string>): void {
    if ('types' in kind) {
      this.#readParts(value, kind);
    } else if ('objectOf' in kind) {
      this.#readIfObject(value, kind.objectOf);
    } else if ('documentOf' in kind) {
      const readContent = (content: unknown) => this.#readParts(content, kind.documentOf);
      readSource(fieldsOf(value), 'document', this.#images, readContent);
    } else if (Array.isArray(value)) {
      this.#readList(value, (item) => this.#readIfObject(item, kind.listOf));
    } else if (kind.mayBeOne === true) {
      this.#readIfObject(value, kind.listOf);
    } else {
      this.#readUnknown(value);
    }
  }

  #readIfObject(value: unknown, table: MemberTable): void {
    if (isObject(value)) {
      this.readObject(value, table);
    } else {
      this.#readUnknown(value);
    }
  }

  #readList(list: readonly unknown[], read: (item: unknown) => void): void {
    for (let index = 0; index < list.length; index += 1) {
      this.#tally.enter(index);
      read(list[index]);
      this.#tally.leave();
    }
  }

  /** Reads a text or a list of texts. The input of embeddings may also be a list of tokens, or of lists of tokens. */
  #readTexts(value: unknown): void {
    if (Array.isArray(value)) {
      this.#readList(value, (item) => this.#readTexts(item));
    } else if (isObject(value)) {
      this.#readUnknown(value);
    } else {
      this.#tally.addScalar(value);
    }
  }

  #readParts(value: unknown, { types, untyped }: PartsOf): void {
    if (typeof value === 'string') {
      this.#tally.addText(value);
      return;
    }
    if (!Array.isArray(value)) {
      this.#readUnknown(value);
      return;
    }
    this.#readList(value, (part) => {
      if (typeof part === 'string') {
        this.#tally.addText(part);
        return;
      }
      const fields = fieldsOf(part);
      const { type } = fields;
      const table =
        typeof type === 'string'
          ? types.get(type)
          : type === undefined && untyped !== undefined && 'role' in fields
            ? untyped
            : undefined;
      // A result with a role may be read as a message instead, whose content is input of the request.
      if (toolResultTypes.has(type) && !('role' in fields)) {
        this.#tally.ofTool(() => this.#readPart(part, table));
      } else {
        this.#readPart(part, table);
      }
    });
  }

  #readPart(part: unknown, table: MemberTable | undefined): void {
    if (table === undefined) {
      this.#readUnknown(part);
      return;
    }
    if (isUnseenMedia(fieldsOf(part))) {
      this.#tally.markUnseen('media');
    }
    this.#readIfObject(part, table);
  }

  #readTools(value: unknown): void {
    if (!Array.isArray(value)) {
      this.#readTool(value);
      return;
    }
    this.#readList(value, (tool) => {
      if (isObject(tool) && this.#format.tools.isRunByClient(tool)) {
        this.readObject(tool, this.#format.request.members.tool);
      } else {
        this.#readTool(tool);
      }
    });
  }

  /** Reads a tool that the provider runs. */
  #readTool(tool: unknown): void {
    this.#tally.ofTool(() => {
      this.#tally.markUnseen('tool');
      this.#readSettings(tool);
    });
  }

  /** Reads a value without content of its own. */
  #readSettings(value: unknown): void {
    if (Array.isArray(value)) {
      this.#readList(value, (item) => this.#readSettings(item));
    } else if (isObject(value)) {
      this.#tally.parts += 1;
      if (isUnseenMedia(value)) {
        this.#tally.markUnseen('media');
      }
      for (const name in value) {
        this.#tally.enter(name);
        if (jsonNames.has(name)) {
          this.#read(value[name], 'json', value);
        } else {
          this.#tally.checkName(name);
          if (referenceNames.has(name) && value[name] != null) {
            this.#tally.markUnseen('reference');
          }
          this.#readSettings(value[name]);
        }
        this.#tally.leave();
      }
    } else {
      this.#tally.addScalar(value);
    }
  }

  #readUnknownMember(name: string, value: unknown): void {
    this.#tally.checkName(name);
    if (referenceNames.has(name) && value != null) {
      this.#tally.markUnseen('reference');
    }
    this.#readUnknown(value);
  }

  /** Marks a value as unseen, unless it is a number: a text may be the name of content. */
  #readUnknown(value: unknown): void {
    if (typeof value === 'string' ? value !== '' : typeof value === 'object' && !isEmpty(value)) {
      this.#tally.markUnseen('unknown');
    }
    this.#readAny(value);
  }

  #readAny(value: unknown): void {
    if (typeof value === 'string') {
      this.#tally.addTextUnlessData(value);
    } else if (Array.isArray(value)) {
      this.#readList(value, (item) => this.#readAny(item));
    } else if (isObject(value)) {
      this.#tally.parts += 1;
      for (const name in value) {
        this.#tally.enter(name);
        this.#tally.checkName(name);
        if (outputFields.has(name)) {
          this.#tally.markAmbiguous(undefined);
        }
        this.#readAny(value[name]);
        this.#tally.leave();
      }
    } else {
      this.#tally.addScalar(value);
    }
  }

  #readEncrypted(value: unknown): void {
    if (typeof value === 'string') {
      this.#tally.addTokens(Math.ceil(value.length * bytesPerCharacter));
    } else {
      this.#readUnknown(value);
    }
  }

  /** Reads media. Its data is neither text nor an image. */
  #readBlob(value: unknown): void {
    this.#tally.markUnseen('media');
    if (typeof value !== 'string') {
      this.#readSettings(value);
    }
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: object | null): boolean {
  return value === null || (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);
}
