/** The audit log of an organization, or of operators: search, export and verification. */
import type { Item, Responses } from '../../../contract/views/responses.ts';
import { ApiFailure } from '../../api.ts';
import {
  actionButton,
  alert,
  badge,
  card,
  chip,
  definitionList,
  empty,
  heading,
  panel,
  table,
} from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen } from '../../form-screens.ts';
import { count, humanize, time } from '../../format.ts';
import { instantOf, localTime } from '../../forms.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { listing } from '../../listing.ts';
import { type Actors, actorLink, actorsById } from '../../names.ts';
import { searchPath } from '../../navigation.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, view } from '../../screen.ts';
import { idPrefix } from '../../search/find-by-id.ts';

const listPath = '/console/audit';

type EntryView = Item<'audit.list'>;
type VerificationView = Responses['audit.verify'];

const filters: readonly Filter[] = [
  { name: 'action', label: 'Action' },
  { name: 'actor', label: 'Actor ID' },
  { name: 'target_kind', label: 'Target type' },
  { name: 'target', label: 'Target ID' },
  {
    name: 'outcome',
    label: 'Outcome',
    options: ['success', 'denied', 'failure'].map((value) => ({ value, label: value })),
  },
  { name: 'trace_id', label: 'Trace ID' },
];
/** Query parameters of the export form, which is on the same page and is shown again with its values after an error. */
const exportFields = ['from', 'to', 'format'];
const formats = ['ndjson', 'cef', 'ocsf'];
const weekMs = 7 * 86_400_000;

export const auditScreens: readonly Screen[] = [
  { path: listPath, audience: 'everyone', handler: (visit) => list(visit) },
  { path: `${listPath}/export`, audience: 'everyone', handler: exported },
  actionScreen<'audit.verify'>({
    path: `${listPath}/verify`,
    audience: 'everyone',
    call: 'GET {org}/audit-log/verify',
    done: 'saved',
    back: listPath,
    longWork: 'Verification',
    show: async (_visit, verification) => view('Verification', verified(verification)),
  }),
];

/** `failure` is the error of an export, whose form is on the same page. */
async function list(visit: ScreenVisit, failure?: ApiFailure) {
  const { api, org, query, now } = visit;
  const listed = await api.get<'audit.list'>(
    link(`${org.path}/audit-log`, { ...filterQuery(query, exportFields), sort: '-seq', limit: '50' }),
  );
  const actors = await actorsById(
    api,
    org,
    listed.data.flatMap(({ actor, target }) => [actor.id, target.id]),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty('No entries yet', 'Every change is recorded here, in the same transaction.'),
    caption: 'Audit log',
    columns: [
      {
        title: 'Time',
        cell: (entry) => html`<span class="nowrap">${time(entry.at, org.timezone)}</span>`,
      },
      {
        title: 'Actor',
        cell: (entry) =>
          html`${actorLink(entry.actor.id, actors)}<span class="sub">${humanize(entry.actor.kind)}</span>`,
      },
      {
        title: 'Action',
        cell: (entry) => html`${entry.action}${entry.code !== null && html` ${chip(entry.code, 'bad')}`}`,
      },
      {
        title: 'Target',
        cell: (entry) =>
          html`${humanize(entry.target.kind)}<span class="sub">${targetLink(entry.target.id, actors)}</span>`,
      },
      { title: 'IP address', cell: (entry) => entry.address ?? '–' },
    ],
    below: details,
  });
  return view(
    'Audit log',
    html`${heading('Audit log', actionButton(visit, { path: `${listPath}/verify`, label: 'Verify log' }), 'Every change, newest first. Entries are chained by hash, so that tampering is detected.')}
${failure !== undefined && alert('The export failed.', failure.fields)}${exportForm(org.timezone, now, query)}${filterBar(listPath, filters, query, exportFields)}${card('Entries', body)}`,
    failure?.status,
  );
}

/** The search opens the page of a resource, and shows its audit entries if it has none or was deleted. */
function targetLink(id: string, actors: Actors): Part {
  if (actors.keys.has(id) || actors.members.has(id)) {
    return actorLink(id, actors);
  }
  const href = idPrefix(id) === '' ? link(listPath, { target: id }) : link(searchPath, { q: id });
  return html`<a href="${href}"><code>${id}</code></a>`;
}

function details(entry: EntryView): Markup {
  const parts = (['before', 'after', 'detail'] as const).flatMap((name) => {
    const value = entry[name];
    return value === null
      ? []
      : [html`<h3>${name}</h3><pre class="scroll" tabindex="0">${JSON.stringify(value, null, 2)}</pre>`];
  });
  return html`<details class="entry"><summary>Entry ${count(entry.seq)}</summary>${parts}${entry.trace_id !== null && html`<p>Trace ID <code>${entry.trace_id}</code></p>`}<p>Actor ID <code>${entry.actor.id}</code></p></details>`;
}

function exportForm(timezone: string, now: Date, query: URLSearchParams): Markup {
  const at = (name: string, ms: number) => query.get(name) ?? localTime(new Date(ms).toISOString(), timezone);
  const isTried = query.has('from');
  return html`<details class="fold"${isTried && html` open`}><summary>Export</summary><form method="get" action="${listPath}/export" class="filters" data-download>
<div class="field"><label for="export-from">From</label><input type="datetime-local" id="export-from" name="from" value="${at('from', now.getTime() - weekMs)}" required></div>
<div class="field"><label for="export-to">To</label><input type="datetime-local" id="export-to" name="to" value="${at('to', now.getTime())}" required></div>
<div class="field"><label for="export-format">Format</label><select id="export-format" name="format">${formats.map((format) => html`<option${format === query.get('format') && html` selected`}>${format}</option>`)}</select></div>
<button class="button">Export</button></form><p class="quiet">At most 90 days, in the time zone of the organization (${timezone}).</p></details>`;
}

/** Passed through the console, because the API does not accept the cookie of a support session. */
async function exported(visit: ScreenVisit): Promise<ScreenAnswer> {
  const { api, org, query } = visit;
  const instant = (name: string) => instantOf(query.get(name) ?? '', org.timezone);
  const format = formats.find((name) => name === query.get('format')) ?? 'ndjson';
  const stream = await api.open(
    link(`${org.path}/audit-log/export`, { from: instant('from'), to: instant('to'), format }),
  );
  if (stream instanceof ApiFailure) {
    if (stream.fields.length === 0) {
      throw stream;
    }
    return list(visit, stream);
  }
  return { kind: 'download', fileName: `audit-log.${format === 'cef' ? 'cef' : 'ndjson'}`, ...stream };
}

function verified(found: VerificationView): Markup {
  return html`${heading('Verification', html`<a class="button" href="${listPath}">Back to audit log</a>`)}
${panel(html`<p>${verdict(found)}</p>
${definitionList([
  ['Entries checked', count(found.checked_entries)],
  ['From entry', count(found.first_seq)],
  ['To entry', count(found.last_seq)],
  [
    'Removed by retention up to entry',
    found.removed_until_seq === null ? 'none' : count(found.removed_until_seq),
  ],
  ['Signed checkpoints checked', count(found.checkpoints_checked)],
])}`)}
${found.findings.length > 0 && card('Problems found', findings(found.findings))}
${found.head.token !== '' && card('Checkpoint', html`<p>A signed checkpoint of the current log. Store it elsewhere to prove later that no entry was changed or removed.</p><pre class="scroll" tabindex="0">${found.head.token}</pre>`)}`;
}

function verdict({ valid, findings }: VerificationView): Markup {
  if (valid) {
    return badge('Log intact', 'good');
  }
  return findings.every(({ kind }) => kind === 'key_invalid')
    ? badge('A signing key cannot be read: its signatures cannot be verified', 'bad')
    : badge('Log tampered with', 'bad');
}

function findings(found: VerificationView['findings']): Part {
  return table({
    caption: 'Findings',
    rows: found,
    columns: [
      { title: 'Entry', isNumber: true, cell: (one) => count(one.seq) },
      { title: 'Kind', cell: (one) => humanize(one.kind) },
      { title: 'Problem', cell: (one) => one.message },
    ],
  });
}
