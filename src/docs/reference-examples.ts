/** Examples of responses, recorded from real ones (test/e2e/samples.test.ts). */
import { type DocsOperation, jsonSchemaOf, successOf } from './openapi.ts';

/** Success responses by operation. */
export type Examples = Readonly<
  Record<string, { readonly status: number; readonly body?: unknown; readonly text?: string }>
>;

/** Maximum length of an example that is repeated on a page. A longer one of the same object is shown once. */
const repeatedCharactersMax = 800;

/** Returns a function that returns the example of an operation as Markdown. It must be called for the operations of a page in order. */
export function exampleChooser(examples: Examples): (operation: DocsOperation) => string {
  const shown = new Map<string, DocsOperation>();
  return (operation) => {
    const example = examples[operation.operationId];
    if (example === undefined) {
      return '';
    }
    if (example.text !== undefined) {
      return fenced('text', example.text);
    }
    if (example.body === undefined) {
      return example.status === 204 ? 'No body.\n' : '';
    }
    const json = JSON.stringify(example.body, null, 2);
    const reference = jsonSchemaOf(successOf(operation.responses))?.$ref ?? '';
    const other = shown.get(reference);
    if (other !== undefined && json.length > repeatedCharactersMax) {
      return `Example: see [${other.summary}](#${other.operationId}).\n`;
    }
    shown.set(reference, other ?? operation);
    return fenced('json', json);
  };
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`;
}
