/** Pages that change something: forms, which are shown and submitted at one path, and single actions. */
import { randomUUID } from 'node:crypto';
import { ApiFailure } from './api.ts';
import { buttonTo } from './buttons.ts';
import { panel, requirement } from './components.ts';
import {
  changedMembers,
  mergedForm,
  type ShownVersion,
  submissionOf,
  versionIn,
  versionInputs,
} from './form-versions.ts';
import { bodyOf, type Field, form, formAsText, submittedValues, type Values } from './forms.ts';
import { html, link, type Markup, type Part } from './html.ts';
import { codeList } from './inline.ts';
import { onceField } from './inputs.ts';
import { operationOf, pathOf } from './operations.ts';
import type { FormOutcome } from './outcomes.ts';
import type { OperationId, Responses } from './responses.ts';
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

/** The values of a form as the request body. */
export type FormBody = Readonly<Record<string, unknown>>;

export interface FormPage<Id extends OperationId> {
  /** Shown by GET, submitted by POST. */
  readonly path: string;
  readonly audience?: Audience;
  readonly title: string;
  readonly intro?: Part;
  readonly submit: string | ((visit: ScreenVisit) => string | Promise<string>);
  /** Set if what the form does cannot be undone. */
  readonly isDestructive?: true;
  /** Target after a success and of “Cancel”; a template with the parameters of `path`. */
  readonly back: string;
  fields(visit: ScreenVisit): readonly Field[] | Promise<readonly Field[]>;
  /** Initial values of the fields. */
  load?(visit: ScreenVisit): Promise<Values>;
  readonly call: Call;
  /** Builds the request body. Default: the values by the names of the fields. */
  body?(body: FormBody, visit: ScreenVisit): object | Promise<object>;
  /** Prefix of the fields in the body, such as `changes.`, which the API includes in its field errors. */
  readonly within?: string;
  /** Rejects input that the API would accept. */
  check?(body: FormBody, visit: ScreenVisit): ApiFailure | undefined | Promise<ApiFailure | undefined>;
  /** Content above the form. */
  above?(visit: ScreenVisit): Part | Promise<Part>;
  /** Replaces the single call of the API where several are needed. */
  send?(visit: ScreenVisit, body: FormBody): Promise<Responses[Id] | ApiFailure>;
  readonly done?: FormOutcome;
  /** Set if submitting may take long: its progress is then shown. */
  readonly longWork?: true;
  /** Shows a page, such as a secret, instead of redirecting to `back`. */
  show?(visit: ScreenVisit, answer: Responses[Id]): Promise<ScreenAnswer>;
  /** Shows a result below the submitted form instead of redirecting to `back`. */
  result?(visit: ScreenVisit, answer: Responses[Id]): Part;
  /** A second button for a dry run. */
  readonly attempt?: {
    readonly label: string;
    readonly call: Call;
    run(visit: ScreenVisit, body: FormBody): Promise<Markup | ApiFailure>;
  };
  /** Content below the form, such as the delete button. `stored`: what `load` returns. */
  below?(visit: ScreenVisit, stored: Values): Part;
}

interface ShownForm {
  readonly fields: readonly Field[];
  readonly values: Values;
  /** The values that `load` has returned, if it was called. */
  readonly stored?: Values | undefined;
  readonly version?: ShownVersion | undefined;
  readonly failure?: ApiFailure;
  readonly result?: Part;
}

/** `Id` is the operation of `call`. It is needed only if the page reads the response. */
export function formScreens<Id extends OperationId = never>(page: FormPage<Id>): readonly Screen[] {
  const { path, audience = 'org', title, intro, submit, back, attempt, call } = page;
  const takesLong = attempt !== undefined || page.longWork === true;
  async function below(visit: ScreenVisit, loaded: Values | undefined): Promise<Part> {
    return page.below?.(visit, loaded ?? (await page.load?.(visit)) ?? {});
  }
  async function shown(
    visit: ScreenVisit,
    { fields, values, stored, version, failure, result }: ShownForm,
  ): Promise<ScreenAnswer> {
    const body = html`${await page.above?.(visit)}
${panel(
  form({
    action: pathOf(path, visit.params),
    fields,
    state: { values, failure },
    once: randomUUID(),
    hidden: version && versionInputs(version),
    submit: typeof submit === 'string' ? submit : await submit(visit),
    ...(page.isDestructive && { isDestructive: true }),
    cancel: pathOf(back, visit.params),
    more:
      attempt &&
      mayCall(visit, attempt.call) &&
      html`<button class="button" name="attempt" value="yes">${attempt.label}</button>`,
  }),
)}
${result !== undefined && html`<div role="status">${result}</div>`}${await below(visit, stored)}`;
    return view({ title, intro: subject(visit, intro), status: failure?.status })`
${body}`;
  }
  /** Visitors who may not change the values may still see them. */
  async function readOnly(visit: ScreenVisit, denied: ApiFailure): Promise<ScreenAnswer> {
    const values = await page.load?.(visit);
    const status = values === undefined ? denied.status : 200;
    return view({ title, intro: subject(visit, intro), status })`
${panel(html`<p class="note">${requirement(denied)}</p>
${values !== undefined && formAsText(await page.fields(visit), values)}
<div class="form-end">${buttonTo(pathOf(back, visit.params), 'Back')}</div>`)}${await below(visit, values)}`;
  }
  async function sent(visit: ScreenVisit): Promise<ScreenAnswer> {
    const fields = await page.fields(visit);
    const body = bodyOf(fields, visit.form, visit.org.timezone);
    const values = submittedValues(fields, visit.form);
    const version = versionIn(visit.form, fields);
    if (attempt !== undefined && visit.form.has('attempt')) {
      const result = await attempt.run(visit, body);
      const outcome = result instanceof ApiFailure ? { failure: result } : { result };
      return shown(visit, { fields, values, version, ...outcome });
    }
    const mistake = await page.check?.(body, visit);
    if (mistake !== undefined) {
      return shown(visit, { fields, values, version, failure: mistake });
    }
    const answer = await (page.send?.(visit, body) ?? submittedForm(visit, fields, body, version));
    if (answer === 'unchanged') {
      return redirectAfter(pathOf(back, visit.params), page.done ?? 'saved');
    }
    if (answer instanceof ApiFailure) {
      const failure = aboutForm(answer.within(page.within ?? ''));
      return version !== undefined && answer.details.etag !== undefined
        ? conflicting(visit, fields, version, failure)
        : shown(visit, { fields, values, version, failure });
    }
    if (page.result !== undefined) {
      return shown(visit, { fields, values, result: page.result(visit, answer) });
    }
    return page.show?.(visit, answer) ?? redirectAfter(pathOf(back, visit.params), page.done ?? 'saved');
  }
  async function submittedForm(
    visit: ScreenVisit,
    fields: readonly Field[],
    entered: FormBody,
    version: ShownVersion | undefined,
  ): Promise<Responses[Id] | ApiFailure | 'unchanged'> {
    const bodyFor = async (body: FormBody) => (await page.body?.(body, visit)) ?? body;
    const body = await bodyFor(entered);
    if (version === undefined || !call.startsWith('PATCH ')) {
      return submitted<Id>(visit, call, body, version);
    }
    const before = await bodyFor(bodyOf(fields, submissionOf(version.values), visit.org.timezone));
    const changed = changedMembers(body, before);
    return Object.keys(changed).length === 0 ? 'unchanged' : submitted<Id>(visit, call, changed, version);
  }
  async function conflicting(
    visit: ScreenVisit,
    fields: readonly Field[],
    seen: ShownVersion,
    failure: ApiFailure,
  ): Promise<ScreenAnswer> {
    const { version } = await loaded(visit, fields);
    const merged = mergedForm(
      submittedValues(fields, visit.form),
      seen.values,
      version?.values ?? {},
      failure,
    );
    return shown(visit, { fields, version, ...merged });
  }
  /** Returns the current values, with their version if the form changes something that exists. */
  async function loaded(
    visit: ScreenVisit,
    fields: readonly Field[],
  ): Promise<Pick<ShownForm, 'stored' | 'version'>> {
    const isChange = page.load !== undefined && /^(PATCH|PUT) /.test(call);
    const { path: resource } = operationOf(call, visit.org, visit.params);
    // Before the values, so that a change between the two is a conflict.
    const etag = isChange ? await visit.api.versionOf(resource) : undefined;
    const stored = await page.load?.(visit);
    const values = stored && submittedValues(fields, submissionOf(stored));
    return { stored, version: etag === undefined || values === undefined ? undefined : { etag, values } };
  }
  async function opened(visit: ScreenVisit): Promise<ScreenAnswer> {
    const denied = visit.denied(pathOf(path, visit.params));
    if (denied !== undefined) {
      return readOnly(visit, denied);
    }
    const fields = await page.fields(visit);
    const { stored, version } = await loaded(visit, fields);
    return shown(visit, { fields, values: stored ?? prefilled(fields, visit.query), stored, version });
  }
  return [
    { path, audience, handler: opened },
    { method: 'POST', path, audience, call, handler: sent, ...(takesLong && { longWork: title }) },
  ];
}

/** Calls the operation of a form with the form's token as idempotency key, so that a reload has no second effect. */
function submitted<Id extends OperationId>(
  { api, org, params, form: fields }: ScreenVisit,
  call: Call,
  body?: object,
  version?: ShownVersion,
): Promise<Responses[Id] | ApiFailure> {
  // The name of a new resource may be both a field and a path parameter.
  const typed = Object.fromEntries([...fields].map(([name, value]) => [name, value.trim()]));
  const { method, path } = operationOf(call, org, { ...typed, ...params });
  return api.send<Id>(method, path, body, fields.get(onceField) ?? undefined, version?.etag);
}

function mayCall({ api, org, params }: ScreenVisit, call: Call): boolean {
  const { method, path } = operationOf(call, org, params);
  return api.denied(method, path) === undefined;
}

/** Replaces messages about an `Idempotency-Key`, which visitors do not know. The form has a new key by then. */
const onceMessages: Readonly<Record<string, string>> = {
  idempotency_key_conflict:
    'This form was already sent with other values. Send it again to create another one.',
  idempotency_key_processing:
    'This form is already being processed. Check the result before you send it again.',
};

function aboutForm(failure: ApiFailure): ApiFailure {
  const message = onceMessages[failure.code];
  return message === undefined
    ? failure
    : new ApiFailure(failure.status, failure.code, message, failure.details);
}

/** Shows the path parameters, which name the edited resource, above the intro. */
function subject({ params }: ScreenVisit, intro: Part): Part {
  const names = Object.values(params);
  return names.length === 0 ? intro : html`${codeList(names)}${intro !== undefined && html`<br>${intro}`}`;
}

/** Reads initial values from the query, so that links can prefill a form. */
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
  readonly done: FormOutcome;
  /** Target after a success; a template with the parameters of `path`. */
  readonly back: string;
  /** The title of a page with a long-running operation. */
  readonly longWork?: string;
  /** Shows a failure. Default: an error page. */
  showFailure?(visit: ScreenVisit, failure: ApiFailure): Promise<ScreenAnswer>;
  show?(visit: ScreenVisit, answer: Responses[Id]): Promise<ScreenAnswer>;
}

/** The target of a button. */
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
        if (page.showFailure === undefined) {
          throw answer;
        }
        return page.showFailure(visit, answer);
      }
      return page.show?.(visit, answer) ?? redirectAfter(pathOf(page.back, visit.params), page.done);
    },
  };
}

function redirectAfter(path: string, done: FormOutcome): SeeOther {
  return seeOther(link(path, { done }));
}
