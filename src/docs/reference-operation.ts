/** An operation of the reference: samples, parameters, body, response and errors. */
import { errorCodes } from '../contract/errors.ts';
import { fieldTable, rowsOf } from './field-table.ts';
import { type JsonSchema, linkTo, type Schemas, typeName } from './json-schema.ts';
import { type DocsOperation, jsonSchemaOf, type lookupIn, type Parameter, successOf } from './openapi.ts';
import { schemasOf } from './reference-objects.ts';
import { samplesOf } from './samples.ts';

export interface OperationContext {
  readonly find: ReturnType<typeof lookupIn>;
  /** Anchors of the objects that are described below the operations. */
  readonly shared: ReadonlyMap<string, string>;
  /** The operation whose body each schema is. */
  readonly bodies: ReadonlyMap<string, string>;
  /** Markdown of an example of the response. */
  readonly example: string;
}

/** Returns the method and the path template. */
export function requestOf({ method, path }: DocsOperation): string {
  return `\`${method} ${path}\``;
}

export function operationMarkdown(
  operation: DocsOperation,
  { find, shared, bodies, example }: OperationContext,
): string {
  const schemas = schemasOf(find, shared);
  const {
    operationId,
    summary,
    description = '',
    parameters,
    requestBody,
    responses,
    deprecated,
  } = operation;
  const body = jsonSchemaOf(requestBody);
  const success = Object.keys(responses)[0] ?? '';
  const answer = jsonSchemaOf(successOf(responses));
  return `<a id="${operationId}"></a>

## ${summary}

${requestOf(operation)} · \`${operationId}\`${deprecated === true ? ' (deprecated: see [deprecations](/docs/deprecations))' : ''}

${description}

${samplesMarkdown(operation)}

${part('Parameters', parameterTable(parameters, schemas))}${part('Body', body && `${fieldTable(body, schemasOf(find, bodies))}\n${requestBody?.description ?? ''}`)}${part(`Response ${success}`, `${answer === undefined ? '' : answerMarkdown(answer, schemas)}\n${example}`)}${part('Errors', errorLinks(responses))}`;
}

function samplesMarkdown(operation: DocsOperation): string {
  return Object.entries(samplesOf(operation))
    .map(([language, code]) => `\`\`\`${language}\n${code}\n\`\`\``)
    .join('\n\n');
}

function part(title: string, text: string | undefined): string {
  return text === undefined || text.trim() === '' ? '' : `### ${title}\n\n${text}\n\n`;
}

function answerMarkdown(schema: JsonSchema, schemas: Schemas): string {
  const isLinked = linkTo(schema, schemas) !== undefined;
  return (isLinked ? '' : fieldTable(schema, schemas)) || `${typeName(schema, schemas)}\n`;
}

function parameterTable(parameters: readonly Parameter[], schemas: Schemas): string {
  return parameters.length === 0
    ? ''
    : rowsOf(
        ['name', 'type', ''],
        parameters.map(({ name, in: place, required = false, description, schema }) => ({
          name,
          type: `${typeName(schema, schemas)}, in ${place}${required ? '' : ', optional'}`,
          text: description ?? schema.description ?? '',
        })),
      );
}

/** Returns links to the error codes of each status, taken from the references to their schemas. */
function errorLinks(responses: DocsOperation['responses']): string {
  const found = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]) => {
      const named = new Set(
        [...JSON.stringify(response).matchAll(/schemas\/Error_(\w+)/g)].map(([, code]) => code),
      );
      const codes = errorCodes.filter((code) => named.has(code));
      return `${status}: ${codes.map((code) => `[\`${code}\`](/docs/errors#${code})`).join(', ')}`;
    });
  return found.length === 0 ? '' : `${found.join('. ')}.`;
}
