/** A test of single sign-on: its start, and its result. */
import { ApiFailure } from '../../api.ts';
import { buttonTo } from '../../buttons.ts';
import { card, definitionList, panel, preformatted } from '../../components.ts';
import { capitalized } from '../../format.ts';
import { html, type Markup } from '../../html.ts';
import { badge, codeList, type Tone } from '../../inline.ts';
import type { Responses } from '../../responses.ts';
import { type View, view } from '../../screen.ts';
import { settingsPath } from './settings-tabs.ts';

type TestView = Responses['sso.tests.read'];
type ResultView = NonNullable<TestView['result']>;

/** A link, because the content security policy does not let forms lead to other hosts. */
export function testStarted({ start_url }: Responses['sso.tests.create']): View {
  return view({ title: 'Test sign-in', actions: buttonTo(`${settingsPath}/sso`, 'Back') })`
${panel(html`<p>Sign in at your identity provider. You then see what it says about you, and which role you would get.</p>
<p>Your session, your settings and your members stay as they are.</p>
<p class="form-end"><a class="button primary" href="${start_url}" rel="noreferrer">Continue to identity provider</a></p>`)}`;
}

const tones: Readonly<Record<ResultView['outcome'], Tone>> = {
  allowed: 'good',
  refused: 'bad',
  failed: 'bad',
};
const verdicts: Readonly<Record<ResultView['outcome'], string>> = {
  allowed: 'This person can sign in.',
  refused: 'This person cannot sign in.',
  failed: 'The sign-in did not complete.',
};

export function testCard(test: TestView | ApiFailure): Markup {
  if (test instanceof ApiFailure) {
    return card(
      'Test sign-in',
      html`<p class="quiet">${test.code === 'not_found' ? 'The test has expired. Start another one.' : test.message}</p>`,
    );
  }
  return card(
    'Test sign-in',
    test.result === null
      ? html`<p>${badge('Waiting', 'info')} The test has not come back from the identity provider yet.</p>`
      : resultBody(test.result),
  );
}

function resultBody(result: ResultView): Markup {
  const { outcome, reason, detail, subject, email, name, groups, role, member, claims } = result;
  return html`<p role="status">${badge(capitalized(outcome), tones[outcome])} ${verdicts[outcome]} ${reason}</p>
${detail !== null && html`<p><code>${detail}</code></p>`}
${
  outcome !== 'failed' &&
  definitionList([
    ['Subject', html`<code>${subject}</code>`],
    ['Verified email', email ?? 'none'],
    ['Name', name ?? '–'],
    ['Groups', groups.length === 0 ? 'none' : codeList(groups)],
    ['Role', role === null ? 'none' : capitalized(role)],
    ['Member', member === null ? '–' : member === 'new' ? 'Would be created' : 'Exists already'],
  ])
}
${
  Object.keys(claims).length > 0 &&
  html`<details class="entry"><summary>What the identity provider sent</summary>${preformatted(JSON.stringify(claims, null, 2))}</details>`
}`;
}
