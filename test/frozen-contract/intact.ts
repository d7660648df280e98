/** The current project with a newly recorded baseline, and copies of it in which one thing is tampered with. */
import { standingDeprecations } from '../../scripts/contract/check-ledger.ts';
import { stillNotServed } from '../../scripts/contract/check-served.ts';
import { isDate } from '../../scripts/contract/dates.ts';
import type { FrozenContract } from '../../scripts/contract/frozen-contract.ts';
import { checkProject, currentOf, type Project } from '../../scripts/contract/project.ts';
import { formatPublished, publish, record } from '../../scripts/contract/published.ts';
import { readProject } from '../../scripts/contract/read-project.ts';

// biome-ignore lint/suspicious/noExplicitAny: tampering reaches into every corner.
export type Draft = any;
export type Tamper = (draft: Draft) => void;

/**
 * Returns the project with a newly recorded baseline, so that a test fails because of its own change and not because of
 * a route that is being added.
 */
export async function wholeProject(): Promise<Project> {
  const project = beforeFirstRelease(await readProject());
  const contract = JSON.parse(project.contractText) as FrozenContract;
  return published({
    ...project,
    notServedYet: stillNotServed(contract, project.evidence, project.notServedYet),
  });
}

/** Returns the project as if everything were in one release that is still being made, so that tests can release it. */
function beforeFirstRelease(project: Project): Project {
  const version = '0.1.0';
  const [introduction, ...sections] = project.changelog.split(/^## .*\n/m);
  return {
    ...project,
    packageVersion: version,
    releases: [
      {
        version,
        date: 'unreleased',
        deprecated: standingDeprecations(project.releases),
        removed: [],
        successions: project.releases.flatMap(({ successions }) => successions),
        operatorActions: project.releases.flatMap(({ operatorActions }) => operatorActions),
      },
    ],
    changelog: `${introduction}## ${version} (unreleased)\n${sections.join('\n')}`,
  };
}

/** Returns the same project with few of its paths and events, because every test copies and compares all of them. */
export async function intactProject(): Promise<Project> {
  const project = await wholeProject();
  const { routes } = JSON.parse(project.contractText) as FrozenContract;
  const kept = new Set([...tamperedWith, ...Object.keys(routes).map((name) => name.split(' ')[1])]);
  const { openApi } = project.evidence;
  const paths = Object.fromEntries(Object.entries(openApi.paths).filter(([path]) => kept.has(path)));
  const webhooks = Object.fromEntries(Object.entries(openApi.webhooks ?? {}).slice(0, 2));
  return published({
    ...project,
    evidence: { ...project.evidence, openApi: { ...openApi, paths, webhooks } },
  });
}

/** Paths that tests tamper with, in addition to the paths of the contract. */
const tamperedWith = [
  '/v1/models',
  '/v1/runs',
  '/v1/runs/{run_id}',
  '/v1/orgs/{id}/usage',
  '/v1/orgs/{id}/budgets',
  '/v1/admin/plans',
  '/v1/admin/orgs/{org_id}/rate-limits',
  '/v1/admin/orgs/{org_id}/reinstate',
];

/** Returns the project with its present state as the recorded baseline, and as that of the last release if there is one. */
export function published(project: Project): Project {
  const baseline = publish(currentOf(project), undefined);
  const version = project.releases.findLast(({ date }) => isDate(date))?.version;
  return {
    ...project,
    publishedText: formatPublished(baseline),
    releasedText: version === undefined ? '' : formatPublished({ ...baseline, version }),
  };
}

export function tampered(project: Project, tamper: Tamper): Project {
  const draft = structuredClone(project);
  tamper(draft);
  return draft;
}

/** Returns a function that creates the project at its first call. Tests share it, because they change only copies of it. */
export function shared(create: () => Project): () => Project {
  let project: Project | undefined;
  return () => {
    project ??= create();
    return project;
  };
}

export function refusals(project: Project, tamper: Tamper): string[] {
  return checkProject(tampered(project, tamper));
}

/** Returns the errors that remain after `npm run contract:record`, or the errors of that command. */
export function refusalsOnceRecorded(project: Project, tamper: Tamper): readonly string[] {
  const draft = tampered(project, tamper);
  const contract = JSON.parse(draft.contractText) as FrozenContract;
  const notServedYet = stillNotServed(contract, draft.evidence, draft.notServedYet);
  const outcome = record(draft.publishedText, currentOf({ ...draft, notServedYet }));
  return 'text' in outcome
    ? checkProject({ ...draft, notServedYet, publishedText: outcome.text })
    : outcome.refusals;
}

/** Adds the route that the contract deprecates as an exercise, whether or not the product serves it yet. */
export function withForecast(project: Project): Project {
  const route = '/v1/forecast';
  const draft = tampered(project, ({ evidence, notServedYet }: Draft) => {
    const { registry, openApi, access, answers } = evidence;
    const { since, sunset, replacement } = registry.find((entry: Draft) => entry.route === route);
    openApi.paths[route] = { get: { ...openApi.paths['/v1/models'].get, deprecated: true } };
    access[`GET ${route}`] = access['GET /v1/models'];
    answers[`GET ${route}`] = {
      status: 401,
      headers: {
        deprecation: `@${Date.parse(since) / 1_000}`,
        sunset,
        link: `<https://docs.example.com>; rel="deprecation", <${replacement}>; rel="successor-version"`,
      },
      body: '',
    };
    const listed = notServedYet.indexOf(`GET ${route}`);
    if (listed !== -1) {
      notServedYet.splice(listed, 1);
    }
  });
  return published(draft);
}
