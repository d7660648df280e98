/** Pages that change something: forms that are shown and sent at one address, and single actions. */

import { randomUUID } from 'node:crypto';
import type { OperationId, Responses } from '../contract/views/responses.ts';
import { ApiFailure } from './api.ts';
import { heading, onceField, panel, requirement } from './components.ts';
import { bodyOf, type Field, form, formAsText, type Values, valuesOf } from './forms.ts';
import { html, link, type Markup, type Part } from './html.ts';
import { operationOf, pathOf } from './operations.ts';
import type { Outcome } from './outcomes.ts';
import {
  type Audience,
  type Call,
  type Screen,
  type ScreenAnswer,
  type ScreenVisit,
  type SeeOther,
  seeOther,
  view,
} from './screen.ts';

type Body = Record<string, unknown>;

export interface FormPage<Id extends OperationId> {
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
  readonly call: Call;
  /** As the API takes it; without this, as the fields are named. */
  body?(body: Body, visit: ScreenVisit): object | Promise<object>;
  /** The part of the body that the fields are about, as `changes.`: the API names it with each of them. */
  readonly within?: string;
  /** What the API would accept, and the form does not. */
  check?(body: Body): ApiFailure | undefined;
  /** Above the form. */
  above?(visit: ScreenVisit): Part;
  /** Where one call of the API is not enough. */
  send?(visit: ScreenVisit, body: Body): Promise<Responses[Id] | ApiFailure>;
  readonly done?: Outcome;
  /** What is sent may take long, and how far it is is told. */
  readonly longWork?: true;
  /** What is shown instead of going on, such as a secret. */
  show?(visit: ScreenVisit, answer: Responses[Id]): Promise<ScreenAnswer>;
  /** What is shown below the form, filled in as it was, instead of going on: for questions. */
  result?(visit: ScreenVisit, answer: Responses[Id]): Part;
  /** A second button, which changes nothing and shows what would be. */
  readonly attempt?: {
    readonly label: string;
    readonly call: Call;
    run(visit: ScreenVisit, body: Body): Promise<Markup | ApiFailure>;
  };
  /** At the end, such as how to delete what the form changes. */
  below?(visit: ScreenVisit): Part;
}

interface Shown {
  readonly values: Values;
  readonly failure?: ApiFailure;
  readonly result?: Part;
}

/** `Id`: the operation that `call` names, where the page reads its response. */
export function formScreens<Id extends OperationId = never>(page: FormPage<Id>): readonly Screen[] {
  const { path, audience = 'org', title, intro, submit, back, attempt, call } = page;
  const takesLong = attempt !== undefined || page.longWork === true;
  async function shown(visit: ScreenVisit, { values, failure, result }: Shown): Promise<ScreenAnswer> {
    const body = html`${heading(title, undefined, subject(visit, intro))}${page.above?.(visit)}
${panel(
  form({
    action: pathOf(path, visit.params),
    fields: await page.fields(visit),
    state: { values, failure },
    once: randomUUID(),
    submit,
    cancel: pathOf(back, visit.params),
    more:
      attempt &&
      mayCall(visit, attempt.call) &&
      html`<button class="button" name="attempt" value="yes">${attempt.label}</button>`,
  }),
)}
${result !== undefined && html`<div role="status">${result}</div>`}${page.below?.(visit)}`;
    return view(title, body, failure?.status ?? 200);
  }
  /** What the fields hold may be looked at by those who may not change it. */
  async function readOnly(visit: ScreenVisit, denied: ApiFailure): Promise<ScreenAnswer> {
    const values = await page.load?.(visit);
    const fields = await page.fields(visit);
    return view(
      title,
      html`${heading(title, undefined, subject(visit, intro))}
${panel(html`<p class="note">${requirement(denied)}</p>${values !== undefined && formAsText(fields, values)}<div class="form-end"><a class="button" href="${pathOf(back, visit.params)}">Back</a></div>`)}${page.below?.(visit)}`,
      values === undefined ? denied.status : 200,
    );
  }
  async function sent(visit: ScreenVisit): Promise<ScreenAnswer> {
    const fields = await page.fields(visit);
    const body = bodyOf(fields, visit.form, visit.org.timezone);
    const values = valuesOf(fields, visit.form);
    if (attempt !== undefined && visit.form.has('attempt')) {
      const result = await attempt.run(visit, body);
      return shown(visit, result instanceof ApiFailure ? { values, failure: result } : { values, result });
    }
    const mistake = page.check?.(body);
    if (mistake !== undefined) {
      return shown(visit, { values, failure: mistake });
    }
    const answer = await (page.send?.(visit, body) ??
      submitted<Id>(visit, call, (await page.body?.(body, visit)) ?? body));
    if (answer instanceof ApiFailure) {
      return shown(visit, { values, failure: aboutForm(answer.within(page.within ?? '')) });
    }
    if (page.result !== undefined) {
      return shown(visit, { values, result: page.result(visit, answer) });
    }
    return page.show?.(visit, answer) ?? goOn(pathOf(back, visit.params), page.done ?? 'saved');
  }
  async function opened(visit: ScreenVisit): Promise<ScreenAnswer> {
    const denied = visit.denied(pathOf(path, visit.params));
    if (denied !== undefined) {
      return readOnly(visit, denied);
    }
    const values = (await page.load?.(visit)) ?? prefilled(await page.fields(visit), visit.query);
    return shown(visit, { values });
  }
  return [
    { path, audience, handler: opened },
    { method: 'POST', path, audience, call, handler: sent, ...(takesLong && { longWork: title }) },
  ];
}

/** Sends what a form is for, with its token: a reload of the page that answers it shows that page again, and has no second effect. */
function submitted<Id extends OperationId>(
  { api, org, params, form: fields }: ScreenVisit,
  call: Call,
  body?: object,
): Promise<Responses[Id] | ApiFailure> {
  // What a new thing is called may be a part of its path, and is typed then.
  const typed = Object.fromEntries([...fields].map(([name, value]) => [name, value.trim()]));
  const { method, path } = operationOf(call, org, { ...typed, ...params });
  return api.send<Id>(method, path, body, fields.get(onceField) ?? undefined);
}

function mayCall({ api, org, params }: ScreenVisit, call: Call): boolean {
  const { method, path } = operationOf(call, org, params);
  return api.denied(method, path) === undefined;
}

/** What the API says of an `Idempotency-Key`, of which a form's user knows nothing. The form has a new one now. */
const onceMessages: Readonly<Record<string, string>> = {
  idempotency_key_conflict: 'This form was already sent, with other values. Send it again to make another.',
  idempotency_key_processing:
    'This form is already being processed. Check the result before you send it again.',
};

function aboutForm(failure: ApiFailure): ApiFailure {
  const message = onceMessages[failure.code];
  return message === undefined
    ? failure
    : new ApiFailure(failure.status, failure.code, message, failure.details);
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

export interface ActionPage<Id extends OperationId> {
  readonly path: string;
  readonly audience?: Audience;
  readonly call: Call;
  body?(visit: ScreenVisit): object;
  readonly done: Outcome;
  /** Where one goes on; with the path's own parameters where it has any. */
  readonly back: string;
  /** The title of what is shown, where that takes long. */
  readonly longWork?: string;
  /** What is shown where it is refused; otherwise a page of its own. */
  refused?(visit: ScreenVisit, refused: ApiFailure): Promise<ScreenAnswer>;
  show?(visit: ScreenVisit, answer: Responses[Id]): Promise<ScreenAnswer>;
}

/** A button's address. */
export function actionScreen<Id extends OperationId = never>(page: ActionPage<Id>): Screen {
  return {
    method: 'POST',
    path: page.path,
    audience: page.audience ?? 'org',
    call: page.call,
    ...(page.longWork !== undefined && { longWork: page.longWork }),
    async handler(visit) {
      const answer = await submitted<Id>(visit, page.call, page.body?.(visit));
      if (answer instanceof ApiFailure) {
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
