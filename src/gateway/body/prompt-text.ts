import type { Fields } from '../../kernel/providers/fields.ts';

/** Fields whose text is data, not written by a person or a model. */
const skipped = new Set([
  'model',
  'data',
  'file_data',
  'image_url',
  'encrypted_content',
  'type',
  'role',
  'id',
]);

/** Returns the text of a request for the safety detectors, up to a maximum length. */
export function promptText(body: Fields, charactersMax: number): string {
  const texts: string[] = [];
  let characters = 0;
  const add = (value: unknown): void => {
    if (characters >= charactersMax) {
      return;
    }
    if (typeof value === 'string') {
      texts.push(value);
      characters += value.length + 1;
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (!skipped.has(name)) {
          add(inner);
        }
      }
    }
  };
  add(body);
  return texts.join('\n').slice(0, charactersMax);
}
