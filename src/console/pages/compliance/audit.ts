/** The audit log of an organization, or of operators: search, export and verification. */
import { ApiFailure } from '../../api.ts';
import { actionButton, buttonTo } from '../../buttons.ts';
import { alert, card, definitionList, empty, panel, preformatted } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen } from '../../form-screens.ts';
import { count, humanize, time } from '../../format.ts';
import { instantOf, localTime } from '../../forms.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { badge, chip, nowrap, subline } from '../../inline.ts';
import { labeled } from '../../inputs.ts';
import { listing } from '../../listing.ts';
import { type Actors, actorLink, actorsById } from '../../names.ts';
import { searchPath } from '../../navigation.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenAnswer, type ScreenVisit, type View, view } from '../../screen.ts';
import { idPrefix } from '../../search/find-by-id.ts';
import { table } from '../../table.ts';

const listPath = '/console/audit';

type EntryView = Item<'audit.list'>;
type VerificationResponse = Responses['audit.verify'];

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
    show: async (_visit, verification) => verified(verification),
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
      { title: 'Time', cell: (entry) => nowrap(time(entry.at, org.timezone)) },
      {
        title: 'Actor',
        cell: (entry) => html`${actorLink(entry.actor.id, actors)}${subline(humanize(entry.actor.kind))}`,
      },
      {
        title: 'Action',
        cell: (entry) => html`${entry.action}${entry.code !== null && html` ${chip(entry.code, 'bad')}`}`,
      },
      {
        title: 'Target',
        cell: (entry) => html`${humanize(entry.target.kind)}${subline(targetLink(entry.target.id, actors))}`,
      },
      { title: 'IP address', cell: (entry) => entry.address ?? '–' },
    ],
    below: details,
  });
  const verify = actionButton(visit, { path: `${listPath}/verify`, label: 'Verify log' });
  const intro = 'Every change, newest first. Entries are chained by hash, so that tampering is detected.';
  return view({ title: 'Audit log', actions: verify, intro, status: failure?.status })`
${failure !== undefined && alert('The export failed.', failure.fields)}${exportForm(org.timezone, now, query)}
${filterBar(listPath, filters, query, exportFields)}${card('Entries', body)}`;
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
    return value === null ? [] : [html`<h3>${name}</h3>${preformatted(JSON.stringify(value, null, 2))}`];
  });
  return html`<details class="entry"><summary>Entry ${count(entry.seq)}</summary>${parts}
${entry.trace_id !== null && html`<p>Trace ID <code>${entry.trace_id}</code></p>`}
<p>Actor ID <code>${entry.actor.id}</code></p></details>`;
}

function exportForm(timezone: string, now: Date, query: URLSearchParams): Markup {
  const instant = (name: string, label: string, ms: number) => {
    const value = query.get(name) ?? localTime(new Date(ms).toISOString(), timezone);
    return labeled(
      `export-${name}`,
      label,
      html`<input type="datetime-local" id="export-${name}" name="${name}" value="${value}" required>`,
    );
  };
  const option = (format: string) =>
    html`<option${format === query.get('format') && html` selected`}>${format}</option>`;
  const format = html`<select id="export-format" name="format">${formats.map(option)}</select>`;
  const isTried = query.has('from');
  return html`<details class="fold"${isTried && html` open`}><summary>Export</summary>
<form method="get" action="${listPath}/export" class="filters" data-download>
${instant('from', 'From', now.getTime() - weekMs)}${instant('to', 'To', now.getTime())}${labeled('export-format', 'Format', format)}
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

function verified(found: VerificationResponse): View {
  return view({ title: 'Verification', actions: buttonTo(listPath, 'Back to audit log') })`
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
${
  found.head.token !== '' &&
  card(
    'Checkpoint',
    html`<p>A signed checkpoint of the current log. Store it elsewhere to prove later that no entry was changed or removed.</p>
${preformatted(found.head.token)}`,
  )
}`;
}

function verdict({ valid, findings }: VerificationResponse): Markup {
  if (valid) {
    return badge('Log intact', 'good');
  }
  return findings.every(({ kind }) => kind === 'key_invalid')
    ? badge('A signing key cannot be read: its signatures cannot be verified', 'bad')
    : badge('Log tampered with', 'bad');
}

function findings(found: VerificationResponse['findings']): Part {
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
