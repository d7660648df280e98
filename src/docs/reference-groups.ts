/** The groups of operations, each with a page of the reference. */
import { type DocsOperation, type OpenApi, operationsOf } from './openapi.ts';

export interface DocsGroup {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly operations: readonly DocsOperation[];
}

/**
 * Parts of large groups, or single operations, that have their own page, so that no page is longer than 100 KB. The first part is
 * the tag. If two match, the first applies.
 */
const parts: Readonly<Record<string, string>> = {
  'configuration.plan': 'The changes that a configuration would make.',
  'orgs.configuration.plan': 'The changes that a configuration would make, for operators.',
  'orgs.configuration': 'Configurations of organizations, for operators.',
  'orgs.keys': 'API keys of organizations, for operators.',
  'orgs.summary': 'The figures of one organization, for operators.',
  'orgs.summaries': 'Figures of all organizations, for operators.',
  'orgs.prepaid': 'Prepaid balances of organizations, for operators.',
  'orgs.plan': 'Plans of organizations, for operators.',
  'orgs.rate_limits': 'Rate limits of organizations, for operators.',
  'models.prices': 'Prices of models, for operators.',
  'models.org_prices': 'Prices of models for one organization, for operators.',
  'runs.complete': 'The end of a run in progress.',
  'runs.adjustments': 'Corrections of the cost of a run.',
  'webhooks.signing': 'Secrets that sign the deliveries of a subscription.',
  'webhooks.deliveries': 'Deliveries of a subscription.',
  'webhooks.org_secret': 'The deprecated webhook secret of an organization.',
};

const words: Readonly<Record<string, string>> = {
  sso: 'single sign-on',
  orgs: 'organizations',
  org: 'organization',
};

export function groupsOf(openApi: OpenApi): DocsGroup[] {
  const operations = operationsOf(openApi);
  return openApi.tags.flatMap(({ name: tag, description }) => {
    const own = operations.filter(({ tags }) => tags.includes(tag));
    const names = Object.keys(parts).filter((part) => part.startsWith(`${tag}.`));
    const partOf = ({ operationId }: DocsOperation) =>
      names.find((part) => operationId === part || operationId.startsWith(`${part}.`));
    return [
      groupNamed(
        tag,
        description,
        own.filter((operation) => partOf(operation) === undefined),
      ),
      ...names.map((name) =>
        groupNamed(
          name,
          parts[name] ?? '',
          own.filter((operation) => partOf(operation) === name),
        ),
      ),
    ].filter(({ operations: all }) => all.length > 0);
  });
}

function groupNamed(name: string, description: string, operations: readonly DocsOperation[]): DocsGroup {
  const title = name
    .split('.')
    .map((part) => words[part] ?? part.replaceAll('_', ' '))
    .join(': ');
  return {
    path: `/docs/api/${name.replaceAll(/[._]/g, '-')}`,
    title: title.charAt(0).toUpperCase() + title.slice(1),
    description,
    operations,
  };
}
