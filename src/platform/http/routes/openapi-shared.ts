/** A section of the OpenAPI document's components, to which other parts of the document refer. */

export type OpenApiObject = Record<string, unknown>;

/** Named values. A value that equals one of them becomes a reference. */
export class Shared {
  readonly #section: string;
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, OpenApiObject>();

  constructor(section: string) {
    this.#section = section;
  }

  has(value: OpenApiObject): boolean {
    return this.#names.has(JSON.stringify(value));
  }

  isTaken(name: string): boolean {
    return this.#values.has(name);
  }

  /** Adds a value. Does nothing if an equal value has a name already. */
  add(name: string, value: OpenApiObject): void {
    if (this.has(value)) {
      return;
    }
    if (this.isTaken(name)) {
      throw new Error(`Two different ${this.#section} of the OpenAPI document would be called ${name}.`);
    }
    this.#names.set(JSON.stringify(value), name);
    this.#values.set(name, value);
  }

  share(value: OpenApiObject): OpenApiObject {
    const name = this.#names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/${this.#section}/${name}` };
  }

  /** Replaces schemas of objects and enumerations anywhere in the value by references. */
  shareWithin(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((item) => this.shareWithin(item));
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    const shared = 'properties' in value || 'enum' in value ? this.share(value as OpenApiObject) : value;
    return shared === value ? mapValues(value as OpenApiObject, (inner) => this.shareWithin(inner)) : shared;
  }

  sorted(): [name: string, value: OpenApiObject][] {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

export function mapValues<Value, Result>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
