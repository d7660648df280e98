/** Attribution of API keys: form fields, their request body, and how it is shown. */
import { type AttributionField, attributionFields } from '../../../contract/attribution.ts';
import { runDimensions } from '../../../contract/run-dimensions.ts';
import { ApiFailure } from '../../api.ts';
import type { FormBody } from '../../form-screens.ts';
import { capitalized } from '../../format.ts';
import { dotted, type Field, type Values } from '../../forms.ts';
import { html, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import type { ScreenVisit } from '../../screen.ts';
import type { KeyResponse } from '../../views.ts';

function labelOf(field: AttributionField): string {
  return capitalized(field === 'tags' ? field : runDimensions[field].noun);
}

export const attributionFormFields: readonly Field[] = [
  {
    name: 'attribution',
    label: 'Attribution',
    kind: 'group',
    help: 'Values of decisions and runs that do not state their own. Leave the member blank for the key of a service. One tag per line.',
    parts: attributionFields.map((name) =>
      name === 'tags'
        ? { name, label: labelOf(name), kind: 'textarea', placeholder: 'env=production' }
        : { name, label: labelOf(name), kind: 'text' },
    ),
  },
  {
    name: 'attribution_locked',
    label: 'Locked',
    kind: 'checkboxes',
    options: attributionFields.map((value) => ({ value, label: labelOf(value) })),
    help: 'Requests cannot state another value. Locked tags cannot be changed, but requests can add others.',
  },
];

/** The attribution of a key as form values. */
export function attributionFormValues({
  attribution,
  attribution_locked,
}: Pick<KeyResponse, 'attribution' | 'attribution_locked'>): Values {
  const { tags, ...rest } = attribution;
  return {
    ...dotted(rest, 'attribution'),
    'attribution.tags': Object.entries(tags ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    attribution_locked,
  };
}

/** A signed-in member owns a new key, unless it is for a gateway, which spends for others. */
export function ownAttribution({ credential, query }: ScreenVisit): Values {
  const isOwn = credential.session?.actor === 'member' && query.get('preset') !== 'gateway';
  return isOwn
    ? attributionFormValues({
        attribution: { member_id: credential.keyId },
        attribution_locked: ['member_id'],
      })
    : {};
}

/** Converts the tags to an object, and a blank member to null, which makes the key that of a service. */
export function attributionBody(body: FormBody): FormBody {
  const { tags, ...rest } = (body.attribution ?? {}) as Record<string, string>;
  const entries = linesOf(tags).map((line): [string, string] => {
    const [name = '', ...value] = line.split('=');
    return [name.trim(), value.join('=').trim()];
  });
  return {
    ...body,
    attribution: {
      member_id: null,
      ...rest,
      ...(entries.length > 0 && { tags: Object.fromEntries(entries) }),
    },
  };
}

/** The API cannot report a line that is not a tag, because it only receives the tags. */
export function withInvalidTags({ attribution }: FormBody): ApiFailure | undefined {
  const lines = linesOf((attribution as Record<string, string> | undefined)?.tags);
  const field = {
    field: 'attribution.tags',
    code: 'invalid_format',
    message: 'Use name=value on each line.',
  };
  return lines.every((line) => line.indexOf('=') > 0)
    ? undefined
    : new ApiFailure(422, 'validation_failed', field.message, { fields: [field] });
}

function linesOf(text: string | undefined): string[] {
  return (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Name, value and lock of each field that has a value. */
export function attributionEntries({ attribution, attribution_locked }: KeyResponse): [string, Part][] {
  return attributionFields.flatMap((name): [string, Part][] => {
    const value = attribution[name];
    if (value === undefined) {
      return [];
    }
    const shown =
      typeof value === 'string'
        ? value
        : Object.entries(value).map(([tag, text]) => html`<code>${tag}=${text}</code> `);
    return [[labelOf(name), html`${shown} ${attribution_locked.includes(name) && badge('locked', 'info')}`]];
  });
}

/** All values in one cell of a table. */
export function attributionCell(key: KeyResponse): Part {
  return attributionEntries(key).map(([name, value]) => html`<div>${name}: ${value}</div>`);
}
