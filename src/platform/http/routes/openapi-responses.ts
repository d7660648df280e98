/** Names responses of an OpenAPI document that many operations have: errors, and successes without a body. */
import type { OperationObject, Response } from './openapi-operation.ts';
import { type OpenApiObject, Shared } from './openapi-shared.ts';

export function namedResponses(
  operations: readonly OperationObject[],
  webhooks: readonly OperationObject[],
): Shared {
  const shared = new Shared('responses');
  for (const { responses } of operations) {
    if (responses[204] !== undefined) {
      shared.add(`NoContent${deprecationOf(responses[204])}`, responses[204]);
    }
  }
  for (const { responses } of webhooks) {
    for (const [status, response] of Object.entries(responses)) {
      shared.add(`Webhook${status}`, response);
    }
  }
  nameErrors(shared, operations);
  return shared;
}

/** Names an error response by its status, and by those of its codes that not all responses with this status have. */
function nameErrors(shared: Shared, operations: readonly OperationObject[]): void {
  const byStatus = new Map<string, { readonly response: Response; readonly codes: readonly string[] }[]>();
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) >= 400) {
        const codes = [...JSON.stringify(response.content).matchAll(/Error_(\w+)/g)].map(
          ([, code = '']) => code,
        );
        byStatus.set(status, [...(byStatus.get(status) ?? []), { response, codes }]);
      }
    }
  }
  for (const [status, all] of byStatus) {
    const usual = all.reduce(
      (common, { codes }) => common.filter((code) => codes.includes(code)),
      all[0]?.codes ?? [],
    );
    for (const { response, codes } of all) {
      const unusual = codes.filter((code) => !usual.includes(code)).map((code) => `_${code}`);
      shared.add(`Error${status}${unusual.join('')}${deprecationOf(response)}`, response);
    }
  }
}

function deprecationOf({ headers }: Response): string {
  return 'Deprecation' in (headers as OpenApiObject) ? '_deprecated' : '';
}
