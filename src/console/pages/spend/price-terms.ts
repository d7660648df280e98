/** Form fields of modifiers and unit prices. */
import { exactUsd } from '../../format.ts';
import { dotted, type Field, type Values } from '../../forms.ts';
import type { Responses } from '../../responses.ts';

type PriceTerms = Pick<Responses['models.prices.read'], 'modifiers' | 'units'>;

export const termFields: readonly Field[] = [
  {
    name: 'modifiers',
    label: 'Modifiers',
    kind: 'lines',
    help: 'Rates for runs that meet all conditions of the line, or a factor of all rates. Later lines win.',
    parts: [
      { name: 'tier', label: 'Service tier', kind: 'text', placeholder: 'batch' },
      { name: 'above_input_tokens', label: 'Above input tokens', kind: 'number', placeholder: '200000' },
      {
        name: 'cache_write_ttl',
        label: 'Cache write',
        kind: 'select',
        options: [
          { value: '', label: 'any' },
          { value: '1h', label: 'one hour' },
        ],
      },
      { name: 'region', label: 'Region', kind: 'text', placeholder: 'eu' },
      { name: 'multiplier', label: 'Factor', kind: 'text', placeholder: '1.1' },
      { name: 'input_usd_per_million', label: 'Input', kind: 'money' },
      { name: 'cached_input_usd_per_million', label: 'Cached input', kind: 'money' },
      { name: 'cache_write_usd_per_million', label: 'Cache write', kind: 'money' },
      { name: 'output_usd_per_million', label: 'Output', kind: 'money' },
      { name: 'audio_input_usd_per_million', label: 'Audio input', kind: 'money' },
      { name: 'image_input_usd_per_million', label: 'Image input', kind: 'money' },
      { name: 'cached_image_input_usd_per_million', label: 'Cached image input', kind: 'money' },
      { name: 'audio_output_usd_per_million', label: 'Audio output', kind: 'money' },
      { name: 'image_usd', label: 'Per image', kind: 'money' },
      { name: 'request_usd', label: 'Per request', kind: 'money' },
    ],
  },
  {
    name: 'units',
    label: 'Other units',
    kind: 'lines',
    help: 'Charged in addition to tokens, such as web_search, second, page or tool:name.',
    parts: [
      { name: 'unit', label: 'Unit', kind: 'text', placeholder: 'web_search' },
      { name: 'usd', label: 'Price each', kind: 'money' },
    ],
  },
];

export function termValues({ modifiers, units }: PriceTerms): Values {
  const lines = Object.entries(units).map(([unit, usd]) => ({ unit, usd }));
  return { ...dotted(modifiers, 'modifiers'), ...dotted(lines, 'units') };
}

/** The form has a list of units, the API an object by name. */
export function bodyWithUnits({ units, ...body }: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(units)) {
    return body;
  }
  const prices = units.map(({ unit = '', usd = '' }: { unit?: string; usd?: string }) => [unit, usd]);
  return { ...body, units: Object.fromEntries(prices) };
}

/** Rates that are not for text tokens, with their unit. */
const otherRates = [
  ['image_usd', 'per image'],
  ['request_usd', 'per request'],
  ['audio_input_usd_per_million', 'audio input'],
  ['image_input_usd_per_million', 'image input'],
  ['cached_image_input_usd_per_million', 'cached image input'],
  ['audio_output_usd_per_million', 'audio output'],
] as const;
type OtherRates = Pick<Responses['models.prices.read'], (typeof otherRates)[number][0]>;

export function termSummary({ modifiers, units, ...rates }: PriceTerms & Partial<OtherRates>): string {
  const parts = [
    ...otherRates.map(([name, unit]) => (rates[name] == null ? '' : `${exactUsd(rates[name])} ${unit}`)),
    counted(modifiers.length, 'modifier', 'modifiers'),
    counted(Object.keys(units).length, 'unit', 'units'),
  ].filter((text) => text !== '');
  return parts.length === 0 ? '–' : parts.join(', ');
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? one : many}`;
}
