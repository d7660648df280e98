/** Examples of responses, recorded from real ones (test/e2e/samples.test.ts). */
import { type DocsOperation, jsonSchemaOf, successOf } from './openapi.ts';

/** Success responses by operation. */
export type Examples = Readonly<
  Record<string, { readonly status: number; readonly body?: unknown; readonly text?: string }>
>;

/** Longer examples of an object are shown once on a page. */
const repeatedCharactersMax = 800;

/** Returns a function that is called for the operations of a page in order, and returns the example of each as Markdown. */
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
