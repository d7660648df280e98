/** Safety detectors: list, forms and a test page. */
import { actionCard, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, humanize } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { badge, subline } from '../../inline.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const listPath = '/console/safety';
const detectorPath = `${listPath}/{detector_id}`;

const action: Field = {
  name: 'action',
  label: 'Action on match',
  kind: 'select',
  required: true,
  options: [
    { value: 'block', label: 'Block the run' },
    { value: 'flag', label: 'Flag the run' },
  ],
};
const enabled: Field = { name: 'enabled', label: 'Enabled', kind: 'checkbox' };
const threshold: Field = {
  name: 'threshold',
  label: 'Minimum matches',
  kind: 'number',
  placeholder: '1',
};
const name: Field = { name: 'name', label: 'Name', kind: 'text', required: true };
const pattern: Field = {
  name: 'pattern',
  label: 'Pattern',
  kind: 'text',
  help: 'RE2 syntax. (?i) ignores case.',
};
const wordList: Field = { name: 'words', label: 'Words and phrases', kind: 'phrases', help: 'One per line.' };

/** A detector has a pattern or words: an empty list of words is omitted. */
function ownBody(body: Record<string, unknown>): Record<string, unknown> {
  const { words: list, ...rest } = body;
  return Array.isArray(list) && list.length > 0 ? body : rest;
}

export const safetyScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    title: 'Create detector',
    intro: 'Matches words or a pattern in the content of runs.',
    submit: 'Create detector',
    back: listPath,
    fields: () => [
      name,
      {
        name: 'kind',
        label: 'Type',
        kind: 'select',
        required: true,
        options: [
          { value: 'words', label: 'Words' },
          { value: 'regex', label: 'Pattern' },
        ],
      },
      wordList,
      pattern,
      threshold,
      action,
      enabled,
    ],
    load: async () => ({ kind: 'words', action: 'flag', enabled: 'true' }),
    call: 'POST {org}/safety-detectors',
    body: ownBody,
    done: 'saved',
  }),
  ...formScreens<'safety_detectors.test'>({
    path: `${listPath}/try`,
    title: 'Test detectors',
    intro: 'The text is neither stored nor logged.',
    submit: 'Test',
    back: listPath,
    fields: () => [{ name: 'content', label: 'Content', kind: 'textarea', required: true }],
    call: 'POST {org}/safety-detectors/test',
    body: (body) => ({ content: body.content ?? '' }),
    result: (_visit, { verdict, findings }) =>
      card(
        'Result',
        html`<p>${badge(verdict, verdict === 'pass' ? 'good' : verdict === 'block' ? 'bad' : 'warn')} ${findings.length === 0 && 'No matches.'}</p>${
          findings.length > 0 &&
          table({
            caption: 'Findings',
            rows: findings,
            columns: [
              { title: 'Detector', cell: (one) => humanize(one.detector) },
              {
                title: 'Enabled',
                cell: (one) => (one.enabled ? 'yes' : html`<span class="quiet">no (not counted)</span>`),
              },
              { title: 'Action', cell: (one) => (one.fires ? one.action : 'below minimum matches') },
              {
                title: 'Matches',
                cell: (one) => one.matches.map(({ sample }) => html`<code>${sample}</code> `),
              },
            ],
          })
        }`,
      ),
  }),
  ...formScreens({
    path: detectorPath,
    title: 'Detector',
    submit: 'Save',
    back: listPath,
    async fields(visit) {
      const { kind } = await found(visit);
      return kind === 'built_in'
        ? [action, threshold, enabled]
        : [name, kind === 'regex' ? pattern : wordList, threshold, action, enabled];
    },
    async load(visit) {
      const detector = await found(visit);
      return {
        name: detector.name,
        pattern: detector.pattern ?? '',
        words: detector.words ?? [],
        action: detector.action,
        threshold: String(detector.threshold),
        enabled: String(detector.enabled),
      };
    },
    call: 'PATCH {org}/safety-detectors/{detector_id}',
    done: 'saved',
    below: (visit, { name: thing }) =>
      visit.params.detector_id?.startsWith('det_') === true &&
      actionCard(
        'Delete',
        confirmButton(
          visit,
          {
            path: `${pathOf(detectorPath, visit.params)}/delete`,
            label: 'Delete detector',
            thing: String(thing),
          },
          'It will no longer check runs. This cannot be undone.',
        ),
      ),
  }),
  actionScreen({
    path: `${detectorPath}/delete`,
    call: 'DELETE {org}/safety-detectors/{detector_id}',
    done: 'deleted',
    back: listPath,
  }),
];

function found({ api, org, params }: ScreenVisit): Promise<Responses['safety_detectors.read']> {
  return api.get<'safety_detectors.read'>(org.path + pathOf('/safety-detectors/{detector_id}', params));
}

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const { data } = await api.get<'safety_detectors.list'>(
    link(`${org.path}/safety-detectors`, { ...filterQuery(query), limit: '200' }),
  );
  const actions = [
    linkButton(visit, { path: `${listPath}/new`, label: 'Create detector', tone: 'primary' }),
    linkButton(visit, { path: `${listPath}/try`, label: 'Test detectors' }),
    buttonTo('/console/runs?flagged=true', 'Flagged runs'),
  ];
  const intro = html`Detect sensitive content in the <code>content</code> of runs. Detectors are off by default.`;
  return view({ title: 'Safety', actions, intro })`
${card(
  'Detectors',
  table({
    caption: 'Detectors',
    rows: data,
    columns: [
      {
        title: 'Detector',
        cell: (one) =>
          html`<a href="${path`/console/safety/${one.id}`}">${humanize(one.name)}</a>${subline(one.description ?? one.pattern ?? one.words?.join(', '))}`,
      },
      { title: 'Type', cell: (one) => humanize(one.kind) },
      { title: 'Minimum matches', isNumber: true, cell: (one) => count(one.threshold) },
      {
        title: 'Action',
        cell: (one) => (one.action === 'block' ? badge('block', 'bad') : badge('flag', 'warn')),
      },
      { title: 'Status', cell: (one) => (one.enabled ? badge('on', 'good') : badge('off')) },
    ],
  }),
)}`;
}
