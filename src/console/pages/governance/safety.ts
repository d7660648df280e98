/** Detectors that look at the content of runs: which are on, what they do, and a place to try them. */
import type { Responses } from '../../../contract/views/responses.ts';
import { actionCard, askFirst, badge, card, heading, linkButton, table } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, words } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';

const listPath = '/console/safety';
const detectorPath = `${listPath}/{detector_id}`;

const action: Field = {
  name: 'action',
  label: 'What becomes of a run it fires on',
  kind: 'select',
  required: true,
  options: [
    { value: 'block', label: 'It is refused' },
    { value: 'flag', label: 'It is marked' },
  ],
};
const enabled: Field = { name: 'enabled', label: 'On', kind: 'checkbox' };
const threshold: Field = {
  name: 'threshold',
  label: 'Fires at so many matches',
  kind: 'number',
  placeholder: '1',
};
const name: Field = { name: 'name', label: 'Name', kind: 'text', required: true };
const pattern: Field = {
  name: 'pattern',
  label: 'Pattern',
  kind: 'text',
  help: 'In the syntax of RE2. (?i) ignores capitals.',
};
const wordList: Field = { name: 'words', label: 'Words and phrases', kind: 'list', help: 'One a line.' };

/** A pattern or words: what is empty is not sent. */
function ownBody(body: Record<string, unknown>): Record<string, unknown> {
  const { words: list, ...rest } = body;
  return Array.isArray(list) && list.length > 0 ? body : rest;
}

export const safetyScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens({
    path: `${listPath}/new`,
    title: 'New detector',
    intro: 'Looks for a pattern, or for words, in the content of runs.',
    submit: 'Create the detector',
    back: listPath,
    fields: () => [
      name,
      {
        name: 'kind',
        label: 'Looks for',
        kind: 'select',
        required: true,
        options: [
          { value: 'words', label: 'words' },
          { value: 'regex', label: 'a pattern' },
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
    title: 'Try the detectors',
    intro: 'The text is looked at and dropped: it is neither stored nor logged.',
    submit: 'What would fire?',
    back: listPath,
    fields: () => [{ name: 'content', label: 'Content', kind: 'textarea', required: true }],
    call: 'POST {org}/safety-detectors/test',
    body: (body) => ({ content: body.content ?? '' }),
    result: (_visit, { verdict, findings }) =>
      card(
        'Verdict',
        html`<p>${badge(verdict, verdict === 'pass' ? 'good' : verdict === 'block' ? 'bad' : 'warn')} ${findings.length === 0 && 'No detector finds anything.'}</p>${
          findings.length > 0 &&
          table({
            caption: 'Findings',
            rows: findings,
            columns: [
              { title: 'Detector', cell: (one) => words(one.detector) },
              {
                title: 'On',
                cell: (one) =>
                  one.enabled ? 'yes' : html`<span class="quiet">no: has no part in the verdict</span>`,
              },
              { title: 'Fires', cell: (one) => (one.fires ? `yes: ${one.action}` : 'too few matches') },
              {
                title: 'Finds',
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
    below: (visit) =>
      visit.params.detector_id?.startsWith('det_') === true &&
      actionCard(
        'Delete',
        askFirst(
          visit,
          { path: `${pathOf(detectorPath, visit.params)}/delete`, label: 'Delete the detector' },
          'It looks at nothing from now on.',
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
  return view(
    'Safety',
    html`${heading('Safety', html`${linkButton(visit, { path: `${listPath}/new`, label: 'New detector', tone: 'primary' })}${linkButton(visit, { path: `${listPath}/try`, label: 'Try the detectors' })}<a class="button" href="/console/runs?flagged=true">Flagged runs</a>`, html`What is looked for in the <code>content</code> of runs. Detectors are off until you turn them on.`)}
${card(
  'Detectors',
  table({
    caption: 'Detectors',
    rows: data,
    columns: [
      {
        title: 'Detector',
        cell: (one) =>
          html`<a href="${path`/console/safety/${one.id}`}">${words(one.name)}</a><span class="sub">${one.description ?? one.pattern ?? one.words?.join(', ')}</span>`,
      },
      { title: 'Kind', cell: (one) => words(one.kind) },
      { title: 'Fires at', isNumber: true, cell: (one) => count(one.threshold) },
      {
        title: 'Then',
        cell: (one) => (one.action === 'block' ? badge('refuses', 'bad') : badge('marks', 'warn')),
      },
      { title: 'State', cell: (one) => (one.enabled ? badge('on', 'good') : badge('off')) },
    ],
  }),
)}`,
  );
}
