/** Compares the API's responses, as described and as returned, with the frozen contract. */
import { type Answer, type Evidence, unmatchedRoute } from './evidence.ts';
import type { FrozenContract } from './frozen-contract.ts';
import {
  codesIn,
  codesOf,
  lookUp,
  type OpenApi,
  type OpenApiOperation,
  operationsOf,
} from './openapi-document.ts';
import { broken } from './promises.ts';
import type { Schema } from './schema-form.ts';

type Described = Pick<Evidence, 'openApi'>;

export function checkEnvelope(contract: FrozenContract, { openApi, answers }: Evidence): string[] {
  const described = Object.entries(openApi.components.schemas)
    .filter(([name]) => name.startsWith('Error_'))
    .flatMap(([name, schema]) =>
      Object.entries(contract.envelope)
        .filter(([path, type]) => !describes(schema, path.split('.'), type))
        .map(([path]) => broken('envelope', `the description of ${name} does not promise ${path}`)),
    );
  return [...described, ...checkUnmatched(contract, answers[unmatchedRoute])];
}

/** Returns true if every step of the path is required and its end has the type. */
function describes(schema: Schema, [step, ...rest]: readonly string[], type: string): boolean {
  if (step === undefined) {
    const constant = schema.const === undefined ? undefined : typeof schema.const;
    return (constant ?? schema.type) === type;
  }
  const field = (schema.properties as Record<string, Schema> | undefined)?.[step];
  const required = (schema.required ?? []) as string[];
  return field !== undefined && required.includes(step) && describes(field, rest, type);
}

function checkUnmatched({ envelope, unmatched_route: wanted }: FrozenContract, answer?: Answer): string[] {
  const body = parse(answer?.body) as { error?: Record<string, unknown> } | undefined;
  const faults = Object.entries(envelope)
    .filter(([path, type]) => typeof body?.error?.[path.replace('error.', '')] !== type)
    .map(([path]) => broken('envelope', `the answer to an unmatched route has no ${path}`));
  return answer?.status === wanted.status && body?.error?.code === wanted.code
    ? faults
    : [
        ...faults,
        broken('routes', `an unmatched route is not answered with ${wanted.status} ${wanted.code}`),
      ];
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

export function checkAuthentication(
  { authentication }: FrozenContract,
  { openApi, access }: Pick<Evidence, 'openApi' | 'access'>,
): string[] {
  const schemes = Object.values(openApi.components.securitySchemes);
  const scheme = schemes.some(({ scheme }) => scheme === authentication.scheme)
    ? []
    : [broken('authentication', `the API no longer takes ${authentication.scheme} tokens`)];
  const guarded = Object.entries(operationsOf(openApi)).filter(([, { security }]) => security?.length !== 0);
  return [
    ...scheme,
    ...guarded.flatMap(([name, operation]) =>
      without(codesOf(operation), [
        ...authentication.codes,
        ...(access[name]?.scope === undefined ? [] : authentication.scoped_codes),
        ...(name.includes('{') ? authentication.tenant_codes : []),
      ]).map((code) => broken('authentication', `${name} no longer lists the code ${code}`)),
    ),
  ];
}

export function checkHeaders({ headers }: FrozenContract, { openApi }: Described): string[] {
  const operations = Object.entries(operationsOf(openApi));
  const taken = new Set(
    operations.flatMap(([, { parameters }]) => (parameters ?? []).map(({ name }) => name)),
  );
  const requests = Object.entries(headers.request).flatMap(([header, codes]) =>
    taken.has(header)
      ? operations
          .filter(([, { parameters }]) => parameters?.some(({ name }) => name === header))
          .flatMap(([name, operation]) =>
            without(codesOf(operation), codes).map((code) =>
              broken('headers', `${name} takes ${header} and no longer lists the code ${code}`),
            ),
          )
      : [broken('headers', `no operation takes the header ${header} any more`)],
  );
  const answers = operations.flatMap(([name, operation]) =>
    Object.entries(headers.of_code).flatMap(([code, wanted]) =>
      Object.entries(wanted)
        .filter(([header, type]) => !carries(openApi, operation, code, header, type))
        .map(([header]) => broken('headers', `${name} answers ${code} without the header ${header}`)),
    ),
  );
  return [...requests, ...answers];
}

function carries(
  document: OpenApi,
  { responses }: OpenApiOperation,
  code: string,
  header: string,
  type: string,
): boolean {
  return Object.values(responses)
    .filter(({ content }) => codesIn(content).includes(code))
    .every(({ headers }) => {
      const described = headers?.[header];
      const { schema } =
        ((described?.$ref === undefined ? described : lookUp(document, described.$ref)) as {
          schema?: Schema;
        }) ?? {};
      return schema?.type === type;
    });
}

/** Every operation with a body must declare the codes for an invalid and for a too large body. */
export function checkBodies({ body_routes: { codes } }: FrozenContract, { openApi }: Described): string[] {
  return Object.entries(operationsOf(openApi))
    .filter(([, { requestBody }]) => requestBody !== undefined)
    .flatMap(([name, operation]) =>
      without(codesOf(operation), codes).map((code) =>
        broken('codes', `${name} takes a body and no longer lists the code ${code}`),
      ),
    );
}

/** Every request field of the contract must be accepted by some operation, with all of its values. */
export function checkFields({ fields }: FrozenContract, { openApi }: Described): string[] {
  const bodies = Object.values(operationsOf(openApi)).map(
    ({ requestBody }) => requestBody?.content['application/json']?.schema ?? {},
  );
  return Object.entries(fields).flatMap(([name, values]) => {
    const found = bodies.flatMap((body) => fieldsNamed(name, body));
    if (found.length === 0) {
      return [broken('removal', `no request has the field ${name} any more`)];
    }
    return values
      .filter((value) => !found.some((field) => valuesOf(field).includes(value)))
      .map((value) => broken('removal', `the field ${name} lost its value ${value}`));
  });
}

/** Returns the listed values of a field; patterns may describe more. */
function valuesOf({ enum: values = [], anyOf = [] }: Schema): unknown[] {
  return [...(values as unknown[]), ...(anyOf as readonly Schema[]).flatMap(valuesOf)];
}

function fieldsNamed(name: string, schema: Schema): Schema[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return [
    ...properties.flatMap(([field, inner]) => (field === name ? [inner] : fieldsNamed(name, inner))),
    ...(schema.items === undefined ? [] : fieldsNamed(name, schema.items as Schema)),
  ];
}

/** Paginated routes that are not lists of a resource: they return sums over groups that the caller selects. */
const reports = ['GET /v1/orgs/{id}/usage', 'GET /v1/orgs/{id}/usage/own'];

/** Every list must support its published sort fields and reject others with a field error. */
export function checkLists(
  { list_routes: { parameter, codes } }: FrozenContract,
  { openApi }: Described,
): string[] {
  const operations = Object.entries(operationsOf(openApi));
  const unsorted = operations
    .filter(([name, { parameters = [] }]) => {
      const names = parameters.map((one) => one.name);
      const isList = names.includes('limit') && names.includes('cursor') && !reports.includes(name);
      return isList && !names.includes(parameter);
    })
    .map(([name]) => broken('routes', `${name} is a list and no longer takes ?${parameter}=`));
  const unnamed = operations
    .filter(([, { parameters }]) => parameters?.some(({ name }) => name === parameter))
    .flatMap(([name, operation]) =>
      without(codesOf(operation), codes).map((code) =>
        broken('routes', `${name} takes ?${parameter}= and no longer lists the code ${code}`),
      ),
    );
  return [...unsorted, ...unnamed];
}

export function without(present: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((item) => !present.includes(item));
}
