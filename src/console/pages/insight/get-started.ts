/** Onboarding: a checklist of steps, ticked off from the state of the organization, and code for the first call. */
import { ApiFailure, type Listed } from '../../api.ts';
import { buttonTo, linkButton } from '../../buttons.ts';
import { card, requirement } from '../../components.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge, subline } from '../../inline.ts';
import type { Item } from '../../responses.ts';
import type { Screen, ScreenVisit } from '../../screen.ts';
import { view } from '../../screen.ts';
import { quickStarts } from '../../snippets.ts';

export const getStartedPath = '/console/get-started';

export const getStartedScreens: readonly Screen[] = [
  { path: getStartedPath, audience: 'org', handler: page },
];

interface SetupStep {
  readonly title: string;
  readonly text: Part;
  /** The error if the visitor may not read the state. */
  readonly isDone: boolean | ApiFailure;
  /** The links to the forms of the step; nothing if the visitor may not use them. */
  readonly actions: Part;
  readonly isOptional?: true;
}

/** The key of the code samples until a key is created. */
const keyPlaceholder = 'YOUR_API_KEY';

async function page(visit: ScreenVisit) {
  const steps = await readSteps(visit);
  return view({ title: 'Get started', intro: progressText(steps) })`
${card('Checklist', checklist(steps))}
<div id="code">${quickStarts(['gateway:call', 'edge:decide', 'runs:write'], { url: visit.baseUrl, key: keyPlaceholder, orgId: visit.org.id })}</div>
<p class="quiet">The page of a new API key shows this code with the key filled in.</p>`;
}

/** The checklist as a card of the overview. */
export async function getStartedCard(visit: ScreenVisit): Promise<Markup> {
  const steps = await readSteps(visit);
  return card(
    'Get started',
    html`<p>${progressText(steps)}</p>${checklist(steps)}`,
    html`<a href="${getStartedPath}">Show code</a>`,
  );
}

function progressText(steps: readonly SetupStep[]): string {
  const required = steps.filter(({ isOptional }) => isOptional !== true);
  const done = required.filter(({ isDone }) => isDone === true).length;
  return done === required.length
    ? 'All required steps are done.'
    : `${done} of ${required.length} required steps done.`;
}

function checklist(steps: readonly SetupStep[]): Markup {
  return html`<ol class="checklist">${steps.map(
    ({ title, text, isDone, actions, isOptional }) =>
      html`<li class="step-item${isDone === true && ' is-done'}"><div><strong>${title}</strong> ${stateBadge(isDone, isOptional === true)}${subline(text)}</div>
${isDone !== true && html`<div class="actions">${actions}</div>`}</li>`,
  )}</ol>`;
}

function stateBadge(isDone: boolean | ApiFailure, isOptional: boolean): Part {
  if (isDone instanceof ApiFailure) {
    return html`<span class="quiet">${requirement(isDone)}</span>`;
  }
  return isDone ? badge('Done', 'good') : isOptional && badge('Optional');
}

async function readSteps(visit: ScreenVisit): Promise<readonly SetupStep[]> {
  const { api, org } = visit;
  const limitsOf = (kind: string) => api.tryGet<'limits.list'>(`${org.path}/limits?kind=${kind}&limit=1`);
  const [keys, caps, budgets, connections, runs, webhooks, members] = await Promise.all([
    api.tryGet<'keys.list'>(`${org.path}/keys?status=active&limit=200`),
    limitsOf('spend_cap'),
    limitsOf('budget'),
    api.tryGet<'connections.list'>(`${org.path}/connections?limit=1`),
    api.tryGet<'runs.list'>('/v1/runs?limit=1'),
    api.tryGet<'webhooks.list'>(`${org.path}/webhooks?limit=1`),
    api.tryGet<'members.list'>(`${org.path}/members?limit=1`),
  ]);
  const button = (path: string, label: string, tone?: 'primary') =>
    linkButton(visit, { path, label, ...(tone && { tone }) });
  return [
    {
      title: 'Set a limit',
      text: 'A daily spend cap for the organization, or a budget for a part of it.',
      isDone: isAnyListed(caps) === true ? true : isAnyListed(budgets),
      actions: [
        button('/console/limits/spend-cap', 'Set spend cap', 'primary'),
        button('/console/limits/budgets/new', 'Create budget'),
      ],
    },
    {
      title: 'Create an API key for your service',
      text: html`With the preset “Gateway” for calls through the gateway, or “Own gateway” to request decisions yourself.`,
      isDone: keys instanceof ApiFailure ? keys : keys.data.some(isForService),
      actions: [
        button('/console/keys/new?preset=gateway_calls', 'Create gateway key', 'primary'),
        button('/console/keys/new?preset=gateway', 'Create key for own gateway'),
      ],
    },
    {
      title: 'Connect a provider',
      text: 'The API key of a provider, for calls through the gateway. Not needed with a gateway of your own.',
      isDone: isAnyListed(connections),
      actions: button('/console/gateway/connections/new', 'Create connection'),
      isOptional: true,
    },
    {
      title: 'Send the first call',
      text: html`Copy the code for curl, TypeScript or Python. <a href="/docs/guides/decisions">How decisions work</a>`,
      isDone: isAnyListed(runs),
      actions: buttonTo(`${getStartedPath}#code`, 'Show code'),
    },
    {
      title: 'Send alerts to your systems',
      text: 'A webhook receives an event when a limit reaches a threshold or blocks a request.',
      isDone: isAnyListed(webhooks),
      actions: button('/console/webhooks/new', 'Create webhook'),
      isOptional: true,
    },
    {
      title: 'Invite your team',
      text: 'Members sign in with their own role. Configure single sign-on in the settings.',
      isDone: isAnyListed(members),
      actions: button('/console/settings/members/new', 'Invite member'),
      isOptional: true,
    },
  ];
}

function isAnyListed(listed: Listed<unknown> | ApiFailure): boolean | ApiFailure {
  return listed instanceof ApiFailure ? listed : listed.data.length > 0;
}

/** A key that can send calls and cannot manage keys: not the key of a person who configures the organization. */
function isForService({ role, scopes }: Item<'keys.list'>): boolean {
  const sendsCalls = ['gateway:call', 'edge:decide', 'runs:write'].some((scope) => scopes.includes(scope));
  return sendsCalls && (role === 'member' || !scopes.includes('keys:write'));
}
