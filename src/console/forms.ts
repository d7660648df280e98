/**
 * Forms: declared once, shown with what was typed before and with what the API said of each field, and turned into the
 * body that the API takes. Nothing is validated here; the API is the one who knows.
 */
import { Temporal } from 'temporal-polyfill';
import type { Refused } from './api.ts';
import { type Html, html, type Part } from './html.ts';

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
  /** The same, of numbers. */
  | 'numbers'
  /** An instant, written in the org's time zone. */
  | 'instant';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly help?: Part;
  readonly required?: true;
  readonly options?: readonly Option[];
  readonly placeholder?: string;
  /** What an empty one means: left out unless it says null, which takes a value away. */
  readonly whenEmpty?: 'null';
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

export type Values = Readonly<Record<string, string | readonly string[]>>;

export interface FormState {
  readonly values: Values;
  readonly refused?: Refused | undefined;
}

export interface FormOptions {
  readonly action: string;
  readonly fields: readonly Field[];
  readonly state: FormState;
  readonly submit: string;
  readonly cancel?: string;
  /** Beside the button. */
  readonly more?: Part;
}

export function form({ action, fields, state, submit, cancel, more }: FormOptions): Html {
  const { refused } = state;
  const faultOf = (name: string) =>
    refused?.fields.find(({ field }) => field === name || new RegExp(`^${name}[.[]`).test(field));
  const others = refused?.fields.filter(
    ({ field }) => !fields.some(({ name }) => faultOf(name)?.field === field),
  );
  return html`<form method="post" action="${action}" class="form">
${refused !== undefined && html`<div class="alert" role="alert"><p>${refused.fields.length > 0 ? 'Some fields are not right yet.' : refused.message}</p>${(others ?? []).length > 0 && html`<ul>${others?.map(({ field, message }) => html`<li><code>${field}</code>: ${message}</li>`)}</ul>`}</div>`}
${fields.map((field) => fieldOf(field, state.values[field.name], faultOf(field.name)?.message))}
<div class="form-end"><button class="button primary">${submit}</button>${cancel !== undefined && html`<a class="button" href="${cancel}">Cancel</a>`}${more}</div></form>`;
}

function fieldOf(
  field: Field,
  value: string | readonly string[] | undefined,
  fault: string | undefined,
): Html {
  const { name, label, kind, help, required } = field;
  const id = `field-${name}`;
  const describedBy = [help !== undefined && `${id}-help`, fault !== undefined && `${id}-fault`]
    .filter(Boolean)
    .join(' ');
  const common = html`id="${id}" name="${name}"${describedBy !== '' && html` aria-describedby="${describedBy}"`}${fault !== undefined && html` aria-invalid="true"`}${required && html` required`}`;
  const notes = html`${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}${fault !== undefined && html`<p class="fault" id="${id}-fault">${fault}</p>`}`;
  if (kind === 'checkbox') {
    return html`<div class="field"><label class="check"><input type="checkbox" ${common} value="true"${value === 'true' && html` checked`}> ${label}</label>${notes}</div>`;
  }
  if (kind === 'checkboxes') {
    const chosen = new Set([value ?? []].flat());
    return html`<fieldset class="field" id="${id}"><legend>${label}</legend><div class="checks">${(field.options ?? []).map((option) => html`<label class="check"><input type="checkbox" name="${name}" value="${option.value}"${chosen.has(option.value) && html` checked`}> ${option.label}</label>`)}</div>${notes}</fieldset>`;
  }
  return html`<div class="field"><label for="${id}">${label}${required !== true && html` <span class="optional">optional</span>`}</label>${control(field, common, textOf(value))}${notes}</div>`;
}

function control({ kind, options = [], placeholder }: Field, common: Html, value: string): Html {
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

/** What was typed, to show it again. */
export function valuesOf(fields: readonly Field[], form: URLSearchParams): Values {
  return Object.fromEntries(
    fields.map(({ name, kind }) => [
      name,
      kind === 'checkboxes' ? form.getAll(name) : (form.get(name) ?? ''),
    ]),
  );
}

/** What was typed, as the API takes it. What is no number stays text, so that the API says what is wrong with it. */
export function bodyOf(
  fields: readonly Field[],
  form: URLSearchParams,
  timezone: string,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, kind, whenEmpty } of fields) {
    const text = (form.get(name) ?? '').trim();
    if (kind === 'checkbox') {
      body[name] = text === 'true';
    } else if (kind === 'checkboxes') {
      body[name] = form.getAll(name);
    } else if (text === '') {
      if (whenEmpty === 'null') {
        body[name] = null;
      } else if (kind === 'list' || kind === 'numbers') {
        body[name] = [];
      }
    } else {
      body[name] = apiValue(kind, text, timezone);
    }
  }
  return body;
}

function apiValue(kind: FieldKind, text: string, timezone: string): unknown {
  switch (kind) {
    case 'number':
      return numberOf(text);
    case 'list':
      return listOf(text);
    case 'numbers':
      return listOf(text).map(numberOf);
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

function numberOf(text: string): number | string {
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
