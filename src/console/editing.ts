/** Pages that change something: forms that are shown and sent at one address, and single actions. */
import { Refused } from './api.ts';
import { heading, panel } from './components.ts';
import { bodyOf, type Field, form, type Values, valuesOf } from './forms.ts';
import { type Html, html, link, type Part } from './html.ts';
import type { Outcome } from './outcomes.ts';
import {
  type Audience,
  type Screen,
  type ScreenAnswer,
  type ScreenVisit,
  type SeeOther,
  seeOther,
  view,
} from './screen.ts';

type Body = Record<string, unknown>;

export interface FormPage<Answer> {
  /** Shown by GET, sent by POST. */
  readonly path: string;
  readonly audience?: Audience;
  readonly title: string;
  readonly intro?: Part;
  readonly submit: string;
  /** Where one goes on, and where “Cancel” leads; with the path's own parameters where it has any. */
  readonly back: string;
  fields(visit: ScreenVisit): readonly Field[] | Promise<readonly Field[]>;
  /** What the fields hold at first. */
  load?(visit: ScreenVisit): Promise<Values>;
  send(visit: ScreenVisit, body: Body): Promise<Answer | Refused>;
  readonly done?: Outcome;
  /** What is sent may take long, and how far it is is told. */
  readonly longWork?: true;
  /** What is shown instead of going on, such as a secret. */
  show?(visit: ScreenVisit, answer: Answer): Promise<ScreenAnswer>;
  /** What is shown below the form, filled in as it was, instead of going on: for questions. */
  result?(visit: ScreenVisit, answer: Answer): Part;
  /** A second button, which changes nothing and shows what would be. */
  readonly attempt?: {
    readonly label: string;
    run(visit: ScreenVisit, body: Body): Promise<Html | Refused>;
  };
  /** At the end, such as how to delete what the form changes. */
  below?(visit: ScreenVisit): Part;
}

interface Shown {
  readonly values: Values;
  readonly refused?: Refused;
  readonly result?: Part;
}

export function formScreens<Answer>(page: FormPage<Answer>): readonly Screen[] {
  const { path, audience = 'org', title, intro, submit, back, attempt } = page;
  const takesLong = attempt !== undefined || page.longWork === true;
  async function shown(visit: ScreenVisit, { values, refused, result }: Shown): Promise<ScreenAnswer> {
    const body = html`${heading(title, undefined, subject(visit, intro))}
${panel(
  form({
    action: pathOf(path, visit.params),
    fields: await page.fields(visit),
    state: { values, refused },
    submit,
    cancel: pathOf(back, visit.params),
    more: attempt && html`<button class="button" name="attempt" value="yes">${attempt.label}</button>`,
  }),
)}
${result !== undefined && html`<div role="status">${result}</div>`}${page.below?.(visit)}`;
    return view(title, body, refused?.status ?? 200);
  }
  async function sent(visit: ScreenVisit): Promise<ScreenAnswer> {
    const fields = await page.fields(visit);
    const body = bodyOf(fields, visit.form, visit.org.timezone);
    const values = valuesOf(fields, visit.form);
    if (attempt !== undefined && visit.form.has('attempt')) {
      const result = await attempt.run(visit, body);
      return shown(visit, result instanceof Refused ? { values, refused: result } : { values, result });
    }
    const answer = await page.send(visit, body);
    if (answer instanceof Refused) {
      return shown(visit, { values, refused: answer });
    }
    if (page.result !== undefined) {
      return shown(visit, { values, result: page.result(visit, answer) });
    }
    return page.show?.(visit, answer) ?? goOn(pathOf(back, visit.params), page.done ?? 'saved');
  }
  return [
    {
      path,
      audience,
      handler: async (visit) =>
        shown(visit, {
          values: (await page.load?.(visit)) ?? prefilled(await page.fields(visit), visit.query),
        }),
    },
    { method: 'POST', path, audience, handler: sent, ...(takesLong && { longWork: title }) },
  ];
}

/** What a form changes stands in its address, and need not be among its fields. */
function subject({ params }: ScreenVisit, intro: Part): Part {
  const names = Object.values(params);
  return names.length === 0
    ? intro
    : html`${names.map((name) => html`<code>${name}</code> `)}${intro !== undefined && html`<br>${intro}`}`;
}

/** A link may fill in a form for something new. */
function prefilled(fields: readonly Field[], query: URLSearchParams): Values {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, options }) => {
      const value = query.get(name) ?? (kind === 'select' ? options?.[0]?.value : undefined);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export interface ActionPage<Answer> {
  readonly path: string;
  readonly audience?: Audience;
  send(visit: ScreenVisit): Promise<Answer | Refused>;
  readonly done: Outcome;
  /** Where one goes on; with the path's own parameters where it has any. */
  readonly back: string;
  /** The title of what is shown, where that takes long. */
  readonly longWork?: string;
  /** What is shown where it is refused; otherwise a page of its own. */
  refused?(visit: ScreenVisit, refused: Refused): Promise<ScreenAnswer>;
  show?(visit: ScreenVisit, answer: Answer): Promise<ScreenAnswer>;
}

/** A button's address. */
export function actionScreen<Answer>(page: ActionPage<Answer>): Screen {
  return {
    method: 'POST',
    path: page.path,
    audience: page.audience ?? 'org',
    ...(page.longWork !== undefined && { longWork: page.longWork }),
    async handler(visit) {
      const answer = await page.send(visit);
      if (answer instanceof Refused) {
        if (page.refused === undefined) {
          throw answer;
        }
        return page.refused(visit, answer);
      }
      return page.show?.(visit, answer) ?? goOn(pathOf(page.back, visit.params), page.done);
    },
  };
}

function goOn(path: string, done: Outcome): SeeOther {
  return seeOther(link(path, { done }));
}

/** A path's template with the values of its parameters. */
export function pathOf(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}
