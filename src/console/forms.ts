/**
 * Forms: declared once, rendered with the submitted values and the API's field errors, and converted to a request body.
 * Validation is left to the API.
 */
import { Temporal } from 'temporal-polyfill';
import type { ApiFailure, FormFieldError } from './api.ts';
import { buttonTo } from './buttons.ts';
import { alert } from './components.ts';
import { html, type Markup, type Part } from './html.ts';
import { hiddenInput, onceInput } from './inputs.ts';
import { checkBox, type Option, type OptionGroup, optionGroups } from './option-groups.ts';

export type { Option } from './option-groups.ts';

export type FieldKind =
  | 'text'
  | 'textarea'
  | 'code'
  | 'number'
  | 'money'
  | 'url'
  /** Never rendered back, not even after an error. */
  | 'secret'
  | 'select'
  | 'checkbox'
  | 'checkboxes'
  /** One value per line, or separated by commas. */
  | 'list'
  /** One value per line. Unlike those of a `list`, values may contain commas. */
  | 'phrases'
  /** Like `list`, for percentages. */
  | 'percents'
  /** An instant, in the organization's time zone. */
  | 'instant'
  /** A loaded value that is not shown. It is sent back unchanged, for the `body` of the page, which removes it. */
  | 'hidden'
  /** Several fields that form one object of the body, omitted while all of them are empty. */
  | 'group'
  /** A list of objects, one per line, with a few empty lines at the end; omitted while all lines are empty. */
  | 'lines';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly help?: Part;
  readonly required?: true;
  readonly options?: readonly Option[];
  /** The options of check boxes that are shown in groups. */
  readonly groups?: readonly OptionGroup[];
  /** The fields of a group, or of each line. */
  readonly parts?: readonly Field[];
  readonly placeholder?: string;
  /** Values that a text field suggests. Others can be entered. */
  readonly suggestions?: readonly Option[];
  /** Content below the field, such as a reference. */
  readonly aside?: Part;
  /** Value of an empty field. Default: it is omitted; a list is sent empty. `null` removes a value. */
  readonly whenEmpty?: 'null';
}

/** Values by field name; names in groups and lines have dots, such as `model_mix.0.percent`. */
export type Values = Readonly<Record<string, string | readonly string[]>>;

export interface FormState {
  readonly values: Values;
  readonly failure?: ApiFailure | undefined;
}

export interface FormOptions {
  readonly action: string;
  readonly fields: readonly Field[];
  readonly state: FormState;
  /** Token of this rendered form, so that a resubmission has no second effect. */
  readonly once: string;
  /** Hidden fields. */
  readonly hidden?: Part;
  readonly submit: string;
  readonly isDestructive?: boolean;
  readonly cancel?: string;
  /** Content beside the submit button. */
  readonly more?: Part;
}

const emptyLines = 3;

export function form(options: FormOptions): Markup {
  const { action, fields, state, once, hidden, submit, isDestructive, cancel, more } = options;
  const { failure, values } = state;
  const fieldErrors = failure?.fields ?? [];
  const others = fieldErrors.filter((fieldError) => !fields.some(({ name }) => isAbout(name, fieldError)));
  return html`<form method="post" action="${action}" class="form">${onceInput(once)}${hidden}
${failure !== undefined && alert(summaryOf(failure), others)}
${fields.map((field) => fieldOf(field, values, fieldErrors))}
<div class="form-end"><button class="button ${isDestructive ? 'danger' : 'primary'}">${submit}</button>
${cancel !== undefined && buttonTo(cancel, 'Cancel')}${more}</div></form>`;
}

function summaryOf({ code, fields, message }: ApiFailure): string {
  return code === 'validation_failed' && fields.length > 0 ? 'Check the highlighted fields.' : message;
}

/** The form, read-only. */
export function formAsText(fields: readonly Field[], values: Values): Markup {
  return html`<fieldset class="form as-text" disabled>${fields.map((field) => fieldOf(field, values, []))}</fieldset>`;
}

/** The API writes `model_mix[0].percent` for the field `model_mix.0.percent`. */
function isAbout(name: string, { field }: FormFieldError): boolean {
  const place = field.replaceAll(/\[(\d+)\]/g, '.$1');
  return place === name || place.startsWith(`${name}.`);
}

function fieldOf(field: Field, values: Values, allErrors: readonly FormFieldError[]): Markup {
  const { name, label, kind, help, required } = field;
  const value = values[name];
  const id = `field-${name.replaceAll('.', '-')}`;
  const fieldErrors = allErrors.filter((fieldError) => isAbout(name, fieldError));
  if (kind === 'group' || kind === 'lines') {
    return groupOf(field, values, fieldErrors);
  }
  if (kind === 'hidden') {
    return hiddenInput(name, textOf(value));
  }
  const isInvalid = fieldErrors.length > 0;
  const describedBy = [help !== undefined && `${id}-help`, isInvalid && `${id}-fault`]
    .filter(Boolean)
    .join(' ');
  const common = [
    html`id="${id}" name="${name}"`,
    describedBy !== '' && html` aria-describedby="${describedBy}"`,
    isInvalid && html` aria-invalid="true"`,
    required && html` required`,
    field.suggestions !== undefined && html` list="${id}-list"`,
  ];
  const messages = [...new Set(fieldErrors.map(({ message }) => message))].join(' ');
  const notes = html`${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}
${isInvalid && html`<p class="fault" id="${id}-fault">${messages}</p>`}`;
  if (kind === 'checkbox') {
    return html`<div class="field">${checkBox(common, { value: 'true', label }, value === 'true')}${notes}</div>`;
  }
  if (kind === 'checkboxes') {
    const chosen = new Set([value ?? []].flat());
    const box = (option: Option) => checkBox(html`name="${name}"`, option, chosen.has(option.value));
    const boxes = field.groups
      ? optionGroups(field.groups, chosen, box)
      : html`<div class="checks">${(field.options ?? []).map(box)}</div>`;
    return html`<fieldset class="field" id="${id}"><legend>${label}</legend>${boxes}${notes}</fieldset>`;
  }
  const optional = required !== true && !name.includes('.') && html` <span class="optional">optional</span>`;
  return html`<div class="field"><label for="${id}">${label}${optional}</label>${control(field, common, textOf(value))}
${field.suggestions !== undefined && suggestionList(`${id}-list`, field.suggestions)}${notes}${field.aside}</div>`;
}

function suggestionList(id: string, suggestions: readonly Option[]): Markup {
  return html`<datalist id="${id}">${suggestions.map(({ value, label }) => html`<option value="${value}">${label}</option>`)}</datalist>`;
}

/** Errors of a part are shown beside the part; the others at the end. */
function groupOf(
  { name, label, kind, help, parts = [] }: Field,
  values: Values,
  fieldErrors: readonly FormFieldError[],
): Markup {
  const lines = kind === 'group' ? [name] : linesShown(name, values);
  const names = lines.map((line) => parts.map((part) => ({ ...part, name: `${line}.${part.name}` })));
  const rest = fieldErrors.filter(
    (fieldError) => !names.flat().some((part) => isAbout(part.name, fieldError)),
  );
  return html`<fieldset class="field lines"><legend>${label} <span class="optional">optional</span></legend>
${help !== undefined && html`<p class="help">${help}</p>`}
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

function control({ kind, options = [], placeholder }: Field, common: Part, value: string): Markup {
  const hint = placeholder !== undefined && html` placeholder="${placeholder}"`;
  switch (kind) {
    case 'select':
      return html`<select ${common}>${selectOptions(optionsWith(value, options), value)}</select>`;
    case 'textarea':
    case 'list':
    case 'phrases':
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

export function selectOptions(options: readonly Option[], selected: string): Markup[] {
  return options.map(
    ({ value, label }) =>
      html`<option value="${value}"${value === selected && html` selected`}>${label}</option>`,
  );
}

/** Adds the current value to the options that lack it: the browser would select the first option instead. */
export function optionsWith(value: string, options: readonly Option[]): readonly Option[] {
  const isListed = value === '' || options.some((option) => option.value === value);
  return isListed ? options : [...options, { value, label: value }];
}

export function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join('\n');
}

/** The submitted values, for rendering them again. Empty lines are removed, as in the request body. */
export function submittedValues(fields: readonly Field[], form: URLSearchParams): Values {
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

/** The fields whose names start with `name`, by the rest of their names. */
function within(form: URLSearchParams, name: string): URLSearchParams {
  return new URLSearchParams(
    [...form].flatMap(([key, value]): [string, string][] =>
      key.startsWith(`${name}.`) ? [[key.slice(name.length + 1), value]] : [],
    ),
  );
}

/** The name of a field in a line, such as `3.part`. Two digits are enough, since forms are filled in by hand. */
const linePart = /^(\d{1,2})\.(.+)$/;

/** Lines with input; selects always have a value and do not count. */
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

/** Converts the submitted form to a request body. Invalid numbers stay text, so that the API reports them. */
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

const listKinds: ReadonlySet<FieldKind> = new Set(['list', 'phrases', 'percents']);

/** Returns the value of a field in the request body; undefined if the field is omitted. */
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
      return whenEmpty === 'null' ? null : listKinds.has(kind) ? [] : undefined;
  }
}

function apiValue(kind: FieldKind, text: string, timezone: string): unknown {
  switch (kind) {
    case 'number':
      return numberOf(text);
    case 'list':
      return listOf(text);
    case 'phrases':
      return listOf(text, '\n');
    case 'percents':
      // A trailing percent sign is accepted.
      return listOf(text).map((item) => numberOf(item.replace(/\s*%$/, '')));
    case 'money':
      return withoutGrouping(text.replace(/^(-?)\$/, '$1'));
    case 'instant':
      return instantOf(text, timezone);
    default:
      return text;
  }
}

function listOf(text: string, separator: string | RegExp = /[\n,]/): string[] {
  return text
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Removes commas between thousands. A comma as decimal mark stays, because without it `2,50` would be 250. */
function withoutGrouping(text: string): string {
  return /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(',', '') : text;
}

/** Invalid numbers stay text, so that the API reports them. */
export function numberOf(text: string): number | string {
  const plain = withoutGrouping(text.trim());
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : text;
}

/** Converts a local time, which browsers send without a zone. */
export function instantOf(text: string, timezone: string): string {
  try {
    return new Date(
      Temporal.PlainDateTime.from(text).toZonedDateTime(timezone).epochMilliseconds,
    ).toISOString();
  } catch {
    return text;
  }
}

/** Converts an instant to the local time of an `instant` field. */
export function localTime(instant: string | null | undefined, timezone: string): string {
  return instant === null || instant === undefined
    ? ''
    : Temporal.Instant.from(instant)
        .toZonedDateTimeISO(timezone)
        .toPlainDateTime()
        .toString({ smallestUnit: 'minute' });
}

/** Converts a response to the values of groups and lines: `{ a: [{ b: 1 }] }` to `a.0.b`. */
export function dotted(value: unknown, name: string): Record<string, string> {
  if (value === undefined || value === null) {
    return {};
  }
  return typeof value === 'object'
    ? Object.assign({}, ...Object.entries(value).map(([key, part]) => dotted(part, `${name}.${key}`)))
    : { [name]: String(value) };
}
