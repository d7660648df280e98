/**
 * Checks that the code has every name of the contract: routes, settings, the metric, the headers of deliveries. Names that no
 * release has served yet are in a separate list, which can only shrink.
 */
import { without } from './check-answers.ts';
import type { Evidence } from './evidence.ts';
import type { FrozenContract } from './frozen-contract.ts';
import { codesIn, codesOf, operationsOf } from './openapi-document.ts';
import { broken } from './promises.ts';

/** Names of the contract, each with whether the code has it. */
function servedNames(contract: FrozenContract, evidence: Evidence): Record<string, boolean> {
  const operations = operationsOf(evidence.openApi);
  const { signature_header: signature, version_header: version } = contract.deliveries;
  return {
    ...Object.fromEntries(
      Object.keys(contract.routes).map((name) => [
        name,
        operations[name] !== undefined || evidence.answers[name]?.status === 200,
      ]),
    ),
    [contract.signalling.metric.name]: evidence.metrics[contract.signalling.metric.name] !== undefined,
    [signature]: evidence.deliveries.v1[signature.toLowerCase()] !== undefined,
    [version]: [evidence.deliveries.v1, evidence.deliveries.v2].every(
      (headers) => headers[version.toLowerCase()] !== undefined,
    ),
  };
}

/** Returns the list without names that are served now. */
export function stillNotServed(
  contract: FrozenContract,
  evidence: Evidence,
  notServedYet: readonly string[],
): string[] {
  const served = servedNames(contract, evidence);
  return notServedYet.filter((name) => served[name] !== true);
}

export function checkServed(
  contract: FrozenContract,
  evidence: Evidence,
  notServedYet: readonly string[],
): string[] {
  const served = servedNames(contract, evidence);
  return [
    ...Object.entries(served).flatMap(([name, isServed]) => {
      const excused = notServedYet.includes(name);
      if (isServed && excused) {
        return [
          broken(
            'notServedYet',
            `${name} is served and still on contract/not-served-yet.json: run \`npm run contract:record\``,
          ),
        ];
      }
      return isServed || excused ? [] : [broken('routes', `${name} is in the contract and is not served`)];
    }),
    ...notServedYet
      .filter((name) => served[name] === undefined)
      .map((name) =>
        broken('notServedYet', `${name} is on contract/not-served-yet.json and not in the contract`),
      ),
    ...checkRoutes(contract, evidence),
    ...without(
      evidence.settings.map(({ name }) => name),
      contract.settings,
    ).map((name) => broken('settings', `the setting ${name} was removed or renamed`)),
    ...checkMetric(contract, evidence),
  ];
}

/** Checks the responses of all served routes. */
function checkRoutes(contract: FrozenContract, { openApi }: Evidence): string[] {
  const operations = operationsOf(openApi);
  return Object.entries(contract.routes).flatMap(([name, { success, codes, statuses }]) => {
    const operation = operations[name];
    if (operation === undefined) {
      return [];
    }
    return [
      ...(success === undefined || operation.responses[success] !== undefined
        ? []
        : [broken('routes', `${name} no longer answers ${success}`)]),
      ...without(codesOf(operation), codes ?? []).map((code) =>
        broken('codes', `${name} no longer lists the code ${code}`),
      ),
      ...Object.entries(statuses ?? {}).flatMap(([status, wanted]) =>
        without(codesIn(operation.responses[status]?.content), wanted).map((code) =>
          broken('codes', `${name} no longer answers ${code} with ${status}`),
        ),
      ),
    ];
  });
}

function checkMetric({ signalling: { metric } }: FrozenContract, { metrics }: Evidence): string[] {
  const found = metrics[metric.name];
  return found === undefined || (found.type === metric.type && String(found.labels) === String(metric.labels))
    ? []
    : [
        broken(
          'signalling',
          `the metric ${metric.name} is a ${found.type} with the labels ${found.labels.join(', ') || '(none)'}, not a ${metric.type} with ${metric.labels.join(', ')}`,
        ),
      ];
}
