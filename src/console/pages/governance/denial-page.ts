/** One blocked request: what blocked it, what was missing, when it passes, and whom to ask. */
import { ApiFailure } from '../../api.ts';
import { buttonTo, linkButton } from '../../buttons.ts';
import { card, definitionList, notice } from '../../components.ts';
import { denialReason, denialTitle, shortfallOf } from '../../denial-texts.ts';
import { ago, capitalized, count, humanize, time } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, subline, type Tone } from '../../inline.ts';
import {
  kindName,
  limitEditPath,
  limitLink,
  managedByOperator,
  remainingText,
  usageMeter,
} from '../../limit-names.ts';
import { customerLink, keyLink, keysById } from '../../names.ts';
import { pathOf } from '../../operations.ts';
import { adminContacts, contactLink } from '../../owner.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import type { LimitResponse } from '../../views.ts';
import { raisePath } from '../spend/limit-raises.ts';

type DenialResponse = Responses['refusals.read'];
type DenialCause = NonNullable<DenialResponse['cause']>;
type Approval = Responses['approvals.read'];

const listPath = '/console/refusals';
/** Trace ids that are shown without unfolding. */
const tracesShown = 3;

export const denialPageScreens: readonly Screen[] = [
  { path: `${listPath}/{refusal_id}`, audience: 'org', handler: page },
];

async function page(visit: ScreenVisit) {
  const { api, org, params } = visit;
  const denial = await api.get<'refusals.read'>(org.path + pathOf('/refusals/{refusal_id}', params));
  const { cause, details, limit_id } = denial;
  const approvalId = typeof details.approval_id === 'string' ? details.approval_id : undefined;
  const [limit, approval, keys, admins] = await Promise.all([
    limit_id === null || cause?.deleted === true
      ? undefined
      : api.tryGet<'limits.read'>(link(org.path + path`/limits/${limit_id}`, { windows: '0' })),
    approvalId === undefined
      ? undefined
      : api.tryGet<'approvals.read'>(org.path + path`/approvals/${approvalId}`),
    keysById(api, org, [denial.key_id]),
    cause?.owner == null ? adminContacts(api, org) : [],
  ]);
  const title = blockedBy(denial);
  return view({
    title,
    actions: actions(visit, denial, limit, approval),
    intro: html`${denialReason(denial, org.timezone)}`,
  })`
<div class="grid">
${card(capitalized(subjectOf(denial)), causeOf(visit, denial, limit, approval))}
${card('Whom to ask', contactOf(denial, admins))}
</div>
${card('Request', requestOf(visit, denial, keys))}
<p class="form-end">${buttonTo(listPath, 'All blocked requests')} ${buttonTo(alikeLink(denial), 'Blocked by the same cause')}</p>`;
}

function blockedBy({ code, cause, details }: DenialResponse): string {
  switch (code) {
    case 'policy_approval_required':
    case 'no_model_passes_eval':
      return denialTitle(code);
    case 'spend_cap_exceeded':
      return 'Blocked by the daily spend cap';
    default: {
      const kind = details.scope_kind === 'customer' ? 'customer limit' : denialTitle(code).toLowerCase();
      const name = cause === null || cause.kind === 'policy' ? null : cause.name;
      return `Blocked by ${kind}${name === null ? '' : ` “${cause?.kind === 'detector' ? humanize(name) : name}”`}`;
    }
  }
}

/** The word for what blocked the request. */
function subjectOf({ cause, code }: DenialResponse): string {
  switch (cause?.kind) {
    case undefined:
      return denialTitle(code);
    case 'policy':
      return 'rule';
    case 'detector':
      return 'detector';
    default:
      return 'limit';
  }
}

/** The actions that resolve the denial, if the visitor may use them. */
function actions(
  visit: ScreenVisit,
  denial: DenialResponse,
  limit: LimitResponse | ApiFailure | undefined,
  approval: Approval | ApiFailure | undefined,
): Part {
  const { cause, code, customer_id } = denial;
  if (code === 'credits_exhausted') {
    const target = link('/console/limits/credits/new', { customer_id: customer_id ?? undefined });
    return linkButton(visit, { path: target, label: 'Add credits', tone: 'primary' });
  }
  if (cause === null || cause.deleted) {
    return undefined;
  }
  if (cause.kind === 'policy') {
    return [
      approval !== undefined &&
        !(approval instanceof ApiFailure) &&
        approval.state === 'pending' &&
        reviewButton(visit, approval),
      linkButton(visit, { path: path`/console/policies/${cause.id}`, label: 'Edit rule' }),
    ];
  }
  if (cause.kind === 'detector') {
    return linkButton(visit, { path: path`/console/safety/${cause.id}`, label: 'Edit detector' });
  }
  const edit = limitEditPath({ kind: cause.kind, id: cause.id });
  const raise = raisePath(cause);
  return [
    raise !== undefined && linkButton(visit, { path: raise, label: 'Raise until …', tone: 'primary' }),
    raise !== undefined &&
      linkButton(visit, {
        path: link('/console/raise-requests/new', {
          limit_id: cause.id,
          scope_id: deniedValue(denial, limit),
        }),
        label: 'Ask for more',
      }),
    edit !== undefined &&
      linkButton(visit, {
        path: edit,
        label: raise === undefined ? 'Raise limit' : 'Change limit',
        ...(raise === undefined && { tone: 'primary' }),
      }),
  ];
}

/** The value of the request that a limit of each value (`*`) has denied. */
function deniedValue(
  denial: DenialResponse,
  limit: LimitResponse | ApiFailure | undefined,
): string | undefined {
  if (limit === undefined || limit instanceof ApiFailure) {
    return undefined;
  }
  const field = Object.keys(limit.match).find((name) => limit.match[name] === '*');
  const value = field === undefined ? undefined : new Map<string, unknown>(Object.entries(denial)).get(field);
  return typeof value === 'string' ? value : undefined;
}

function approvalLink({ state, rule_id, key_id }: Approval): string {
  return link('/console/approvals', { state, rule_id, key_id });
}

function reviewButton({ denied }: ScreenVisit, approval: Approval): Part {
  return (
    denied(path`/console/approvals/${approval.id}/approve`) === undefined &&
    html`<a class="button primary" href="${approvalLink(approval)}">Review approval</a>`
  );
}

function causeOf(
  visit: ScreenVisit,
  denial: DenialResponse,
  limit: LimitResponse | ApiFailure | undefined,
  approval: Approval | ApiFailure | undefined,
): Markup {
  const { cause, code, details } = denial;
  const shortfall = shortfallOf(denial);
  const retrySeconds = details.retry_after_seconds;
  return definitionList(
    [
      cause !== null && ([nameOfCause(cause), causeLink(visit, cause, limit)] as const),
      cause === null &&
        code === 'credits_exhausted' &&
        denial.customer_id !== null &&
        (['Customer', customerLink(visit, denial.customer_id)] as const),
      shortfall?.needed !== undefined && (['Needed', shortfall.needed] as const),
      shortfall !== undefined &&
        ([
          'Remaining then',
          shortfall.limit === '–' ? shortfall.remaining : `${shortfall.remaining} of ${shortfall.limit}`,
        ] as const),
      shortfall?.resetsAt !== undefined && (['Resets', near(shortfall.resetsAt, visit)] as const),
      typeof retrySeconds === 'number' && (['Retry after', `${count(retrySeconds)} s`] as const),
      limit !== undefined &&
        !(limit instanceof ApiFailure) &&
        limit.standing !== null &&
        ([
          'Usage now',
          html`${usageMeter(limit, limit.standing)}${remainingText(limit, limit.standing)}`,
        ] as const),
      limit instanceof ApiFailure && (['Usage now', notice(limit)] as const),
      cause?.kind === 'policy' && (['Requested', String(details.attempted ?? '–')] as const),
      approval !== undefined && (['Approval', approvalState(approval)] as const),
      cause?.deleted === true && (['Status', badge('Deleted since')] as const),
      ['Error code', html`<code>${code}</code>`] as const,
      cause === null && shortfall === undefined && (['Message', denial.message] as const),
    ].filter((entry) => entry !== false),
  );
}

/** A time, with the distance to now. */
function near(at: string, { org, now }: ScreenVisit): Part {
  return html`${time(at, org.timezone)} <span class="quiet">(${ago(at, now)})</span>`;
}

function nameOfCause({ kind }: DenialCause): string {
  return kind === 'policy' ? 'Rule' : kind === 'detector' ? 'Detector' : kindName(kind);
}

/** Links to the page of the cause, if the visitor may open it. */
function causeLink(
  { api, org }: ScreenVisit,
  cause: DenialCause,
  limit: LimitResponse | ApiFailure | undefined,
): Part {
  const { kind, id, name, deleted } = cause;
  const shown = name === null ? kindName(kind) : kind === 'detector' ? humanize(name) : name;
  if (limit !== undefined && !(limit instanceof ApiFailure)) {
    return limitLink(limit);
  }
  const isReadable = (resource: string) =>
    !deleted && api.denied('GET', `${org.path}/${resource}/-`) === undefined;
  if (kind === 'policy' && isReadable('policies')) {
    return html`<a href="${path`/console/policies/${id}`}">${shown}</a>`;
  }
  if (kind === 'detector' && isReadable('safety-detectors')) {
    return html`<a href="${path`/console/safety/${id}`}">${shown}</a>`;
  }
  return html`<strong>${shown}</strong>`;
}

const approvalTones: Readonly<Record<Approval['state'], Tone>> = {
  pending: 'info',
  approved: 'good',
  used: 'good',
  denied: 'bad',
  expired: 'plain',
};

const approvalAdvice: Readonly<Record<Approval['state'], string>> = {
  pending: 'Requested by this call. It passes once the approval is granted.',
  approved: 'Send the call again.',
  used: 'Send the call again to request another approval.',
  denied: 'Send the call again to request another approval.',
  expired: 'Send the call again to request another approval.',
};

function approvalState(approval: Approval | ApiFailure): Part {
  if (approval instanceof ApiFailure) {
    return notice(approval);
  }
  const { state } = approval;
  return html`<a href="${approvalLink(approval)}">View approval</a> ${badge(state, approvalTones[state])}${subline(approvalAdvice[state])}`;
}

function contactOf({ cause }: DenialResponse, admins: readonly string[]): Part {
  if (cause?.owner != null) {
    return html`<p class="contact">${contactLink(cause.owner)}</p><p class="quiet">Owner of the ${cause.kind === 'policy' ? 'rule' : 'limit'}.</p>`;
  }
  if (cause !== null && managedByOperator(cause.kind)) {
    return html`<p>Your operator, who manages this limit.</p>`;
  }
  return admins.length > 0
    ? html`<p class="contact">${admins.map((admin, index) => [index > 0 && ', ', contactLink(admin)])}</p>
<p class="quiet">No owner set. These members can change it.</p>`
    : html`<p>An admin of your organization.</p><p class="quiet">No owner set.</p>`;
}

function requestOf(
  visit: ScreenVisit,
  denial: DenialResponse,
  keys: Awaited<ReturnType<typeof keysById>>,
): Markup {
  const { first_at, last_at, model, action, workflow, customer_id, trace_ids, operation } = denial;
  const runs = (name: string, value: string | null): Part =>
    value === null ? '–' : html`<a href="${link('/console/runs', { [name]: value })}">${value}</a>`;
  return html`${definitionList([
    ['Time', near(last_at, visit)],
    [
      'Count',
      denial.count === 1 ? '1' : html`${count(denial.count)} since ${time(first_at, visit.org.timezone)}`,
    ],
    ['API key', keyLink(denial.key_id, keys)],
    ['Model', runs('model', model)],
    ['Action', runs('action', action)],
    ['Workflow', runs('workflow', workflow)],
    ['Customer', runs('customer_id', customer_id)],
    ['Operation', html`<code>${operation}</code>`],
    ['ID', html`<code>${denial.id}</code>`],
  ])}
<dl class="definitions one-column"><div><dt>${denial.count === 1 ? 'Trace ID' : 'Trace IDs'}</dt><dd>${traces(trace_ids, denial.count)}</dd></div></dl>`;
}

function traces(ids: readonly string[], denials: number): Part {
  const shown = ids.slice(0, tracesShown);
  const folded = ids.slice(tracesShown);
  const list = (some: readonly string[]) =>
    html`<ul class="bare-list">${some.map((id) => html`<li><code>${id}</code></li>`)}</ul>`;
  return ids.length === 0
    ? 'not recorded'
    : html`${list(shown)}
${folded.length > 0 && html`<details><summary>${count(folded.length)} more</summary>${list(folded)}</details>`}
${subline(denials > ids.length && `The first ${count(ids.length)} of ${count(denials)}.`)}`;
}

function alikeLink({ limit_id, cause, code }: DenialResponse): string {
  if (limit_id !== null) {
    return link(listPath, { limit_id });
  }
  return link(listPath, cause?.kind === 'policy' ? { rule_id: cause.id } : { code });
}
