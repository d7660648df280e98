/**
 * Forms: declared once, shown with what was typed before and with what the API said of each field, and turned into the
 * body that the API takes. Nothing is validated here; the API is the one who knows.
 */
import { Temporal } from 'temporal-polyfill';
import type { ApiFailure, FieldError } from './api.ts';
import { alert, onceInput } from './components.ts';
import { html, type Markup, type Part } from './html.ts';

export type FieldKind =
  | 'text'
  | 'textarea'
  | 'code'
  | 'number'
  | 'money'
  | 'url'
  /** Never shown again, not even after a refusal. */
  | 'secret'
  | 'select'
  | 'checkbox'
  | 'checkboxes'
  /** One value a line, or separated by commas. */
  | 'list'
  /** The same, of percents. */
  | 'percents'
  /** An instant, written in the org's time zone. */
  | 'instant'
  /** Several fields that are one object of the API, left out while all of them are empty. */
  | 'group'
  /** A list of such objects, a line each, with a few empty lines at the end; left out while there are none. */
  | 'lines';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly help?: Part;
  readonly required?: true;
  readonly options?: readonly Option[];
  /** Of a group, and of each line. */
  readonly parts?: readonly Field[];
  readonly placeholder?: string;
  /** What an empty one means: left out unless it says null, which takes a value away. */
  readonly whenEmpty?: 'null';
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** By the names of fields; those of groups and lines with dots, such as `model_mix.0.percent`. */
export type Values = Readonly<Record<string, string | readonly string[]>>;

export interface FormState {
  readonly values: Values;
  readonly failure?: ApiFailure | undefined;
}

export interface FormOptions {
  readonly action: string;
  readonly fields: readonly Field[];
  readonly state: FormState;
  /** Of this copy of the form: sent with it, so that sending it again has no second effect. */
  readonly once: string;
  readonly submit: string;
  readonly cancel?: string;
  /** Beside the button. */
  readonly more?: Part;
}

const emptyLines = 3;

export function form({ action, fields, state, once, submit, cancel, more }: FormOptions): Markup {
  const { failure, values } = state;
  const fieldErrors = failure?.fields ?? [];
  const others = fieldErrors.filter((fieldError) => !fields.some(({ name }) => isAbout(name, fieldError)));
  return html`<form method="post" action="${action}" class="form">${onceInput(once)}
${failure !== undefined && alert(failure.fields.length > 0 ? 'Some fields are not right yet.' : failure.message, others)}
${fields.map((field) => fieldOf(field, values, fieldErrors))}
<div class="form-end"><button class="button primary">${submit}</button>${cancel !== undefined && html`<a class="button" href="${cancel}">Cancel</a>`}${more}</div></form>`;
}

/** The same to look at. */
export function formAsText(fields: readonly Field[], values: Values): Markup {
  return html`<fieldset class="form as-text" disabled>${fields.map((field) => fieldOf(field, values, []))}</fieldset>`;
}

/** The API writes `model_mix[0].percent` for what is `model_mix.0.percent` here. */
function isAbout(name: string, { field }: FieldError): boolean {
  const place = field.replaceAll(/\[(\d+)\]/g, '.$1');
  return place === name || place.startsWith(`${name}.`);
}

function fieldOf(field: Field, values: Values, allFaults: readonly FieldError[]): Markup {
  const { name, label, kind, help, required } = field;
  const value = values[name];
  const id = `field-${name.replaceAll('.', '-')}`;
  const fieldErrors = allFaults.filter((fieldError) => isAbout(name, fieldError));
  if (kind === 'group' || kind === 'lines') {
    return groupOf(field, values, fieldErrors);
  }
  const isFaulty = fieldErrors.length > 0;
  const describedBy = [help !== undefined && `${id}-help`, isFaulty && `${id}-fault`]
    .filter(Boolean)
    .join(' ');
  const common = html`id="${id}" name="${name}"${describedBy !== '' && html` aria-describedby="${describedBy}"`}${isFaulty && html` aria-invalid="true"`}${required && html` required`}`;
  const notes = html`${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}${isFaulty && html`<p class="fault" id="${id}-fault">${[...new Set(fieldErrors.map(({ message }) => message))].join(' ')}</p>`}`;
  if (kind === 'checkbox') {
    return html`<div class="field"><label class="check"><input type="checkbox" ${common} value="true"${value === 'true' && html` checked`}> ${label}</label>${notes}</div>`;
  }
  if (kind === 'checkboxes') {
    const chosen = new Set([value ?? []].flat());
    return html`<fieldset class="field" id="${id}"><legend>${label}</legend><div class="checks">${(field.options ?? []).map((option) => html`<label class="check"><input type="checkbox" name="${name}" value="${option.value}"${chosen.has(option.value) && html` checked`}> ${option.label}</label>`)}</div>${notes}</fieldset>`;
  }
  return html`<div class="field"><label for="${id}">${label}${required !== true && !name.includes('.') && html` <span class="optional">optional</span>`}</label>${control(field, common, textOf(value))}${notes}</div>`;
}

/** What is wrong with one of its fields stands beside that; the rest at the end. */
function groupOf(
  { name, label, kind, help, parts = [] }: Field,
  values: Values,
  fieldErrors: readonly FieldError[],
): Markup {
  const lines = kind === 'group' ? [name] : linesShown(name, values);
  const names = lines.map((line) => parts.map((part) => ({ ...part, name: `${line}.${part.name}` })));
  const rest = fieldErrors.filter(
    (fieldError) => !names.flat().some((part) => isAbout(part.name, fieldError)),
  );
  return html`<fieldset class="field lines"><legend>${label} <span class="optional">optional</span></legend>${help !== undefined && html`<p class="help">${help}</p>`}
${names.map((line) => html`<div class="line">${line.map((part) => fieldOf(part, values, fieldErrors))}</div>`)}
${rest.map(({ message }) => html`<p class="fault">${message}</p>`)}</fieldset>`;
}

function linesShown(name: string, values: Values): string[] {
  const filled = Object.keys(values).flatMap((key) =>
    key.startsWith(`${name}.`) ? [Number(key.slice(name.length + 1).split('.')[0]) + 1] : [],
  );
  const last = filled.reduce((most, one) => Math.max(most, one), 0);
  return Array.from({ length: last + emptyLines }, (_, index) => `${name}.${index}`);
}

function control({ kind, options = [], placeholder }: Field, common: Markup, value: string): Markup {
  const hint = placeholder !== undefined && html` placeholder="${placeholder}"`;
  switch (kind) {
    case 'select':
      return html`<select ${common}>${options.map((option) => html`<option value="${option.value}"${option.value === value && html` selected`}>${option.label}</option>`)}</select>`;
    case 'textarea':
    case 'list':
      return html`<textarea ${common} rows="4"${hint}>${value}</textarea>`;
    case 'code':
      return html`<textarea ${common} rows="10" class="code" spellcheck="false" autocapitalize="off" autocomplete="off"${hint}>${value}</textarea>`;
    case 'number':
      return html`<input type="text" inputmode="numeric" ${common} value="${value}"${hint}>`;
    case 'money':
      return html`<span class="money"><span aria-hidden="true">$</span><input type="text" inputmode="decimal" ${common} value="${value}"${hint}></span>`;
    case 'secret':
      return html`<input type="password" ${common} autocomplete="off">`;
    case 'instant':
      return html`<input type="datetime-local" ${common} value="${value}">`;
    default:
      return html`<input type="${kind === 'url' ? 'url' : 'text'}" ${common} value="${value}"${hint} autocomplete="off">`;
  }
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join('\n');
}

/** What was typed, to show it again. Lines close up where one between them is empty, as they do on their way to the API. */
export function valuesOf(fields: readonly Field[], form: URLSearchParams): Values {
  return Object.fromEntries(
    fields.flatMap((field): [string, string | readonly string[]][] => {
      const { name, kind } = field;
      switch (kind) {
        case 'checkboxes':
          return [[name, form.getAll(name)]];
        case 'group':
          return [...within(form, name)].map(([part, value]) => [`${name}.${part}`, value]);
        case 'lines':
          return linesIn(field, form).flatMap((line, index) =>
            [...line].map(([part, value]): [string, string] => [`${name}.${index}.${part}`, value]),
          );
        default:
          return [[name, form.get(name) ?? '']];
      }
    }),
  );
}

/** The fields below a name, by the rest of theirs. */
function within(form: URLSearchParams, name: string): URLSearchParams {
  return new URLSearchParams(
    [...form].flatMap(([key, value]): [string, string][] =>
      key.startsWith(`${name}.`) ? [[key.slice(name.length + 1), value]] : [],
    ),
  );
}

/** As `name.3.part`. More lines than these digits can count nobody fills in by hand. */
const linePart = /^(\d{1,2})\.(.+)$/;

/** Those with something typed; what is chosen from a list is always there. */
function linesIn({ name, parts = [] }: Field, form: URLSearchParams): URLSearchParams[] {
  const known = new Set(parts.map((part) => part.name));
  const lines = new Map<string, URLSearchParams>();
  for (const [key, value] of within(form, name)) {
    const [, index = '', part = ''] = linePart.exec(key) ?? [];
    if (known.has(part)) {
      const line = lines.get(index) ?? new URLSearchParams();
      line.set(part, value);
      lines.set(index, line);
    }
  }
  return [...lines.values()].filter((line) => isFilled(parts, line));
}

function isFilled(parts: readonly Field[], line: URLSearchParams): boolean {
  return parts.some(({ name, kind }) => kind !== 'select' && (line.get(name) ?? '').trim() !== '');
}

/** What was typed, as the API takes it. What is no number stays text, so that the API says what is wrong with it. */
export function bodyOf(
  fields: readonly Field[],
  form: URLSearchParams,
  timezone: string,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const value = valueIn(field, form, timezone);
    if (value !== undefined) {
      body[field.name] = value;
    }
  }
  return body;
}

/** Undefined: it is left out. */
function valueIn(field: Field, form: URLSearchParams, timezone: string): unknown {
  const { name, kind, parts = [], whenEmpty } = field;
  const text = (form.get(name) ?? '').trim();
  switch (kind) {
    case 'checkbox':
      return text === 'true';
    case 'checkboxes':
      return form.getAll(name);
    case 'lines': {
      const lines = linesIn(field, form);
      return lines.length > 0 ? lines.map((line) => bodyOf(parts, line, timezone)) : undefined;
    }
    case 'group': {
      const group = within(form, name);
      return isFilled(parts, group) ? bodyOf(parts, group, timezone) : undefined;
    }
    default:
      if (text !== '') {
        return apiValue(kind, text, timezone);
      }
      return whenEmpty === 'null' ? null : kind === 'list' || kind === 'percents' ? [] : undefined;
  }
}

function apiValue(kind: FieldKind, text: string, timezone: string): unknown {
  switch (kind) {
    case 'number':
      return numberOf(text);
    case 'list':
      return listOf(text);
    case 'percents':
      // Percents, which people write as such.
      return listOf(text).map((item) => numberOf(item.replace(/\s*%$/, '')));
    case 'money':
      return text.replaceAll(/[$,\s]/g, '');
    case 'instant':
      return instantOf(text, timezone);
    default:
      return text;
  }
}

function listOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** What is no number stays text, for the API to say so. */
export function numberOf(text: string): number | string {
  const plain = text.replaceAll(/[,\s]/g, '');
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : text;
}

/** Browsers send local time without a zone. */
export function instantOf(text: string, timezone: string): string {
  try {
    return new Date(
      Temporal.PlainDateTime.from(text).toZonedDateTime(timezone).epochMilliseconds,
    ).toISOString();
  } catch {
    return text;
  }
}

/** The other way around: an instant as a field of a form holds it. */
export function localTime(instant: string | null | undefined, timezone: string): string {
  return instant === null || instant === undefined
    ? ''
    : Temporal.Instant.from(instant)
        .toZonedDateTimeISO(timezone)
        .toPlainDateTime()
        .toString({ smallestUnit: 'minute' });
}

/** What the API answered, as groups and lines hold it: `{ a: [{ b: 1 }] }` as `a.0.b`. */
export function dotted(value: unknown, name: string): Record<string, string> {
  if (value === undefined || value === null) {
    return {};
  }
  return typeof value === 'object'
    ? Object.assign({}, ...Object.entries(value).map(([key, part]) => dotted(part, `${name}.${key}`)))
    : { [name]: String(value) };
}
