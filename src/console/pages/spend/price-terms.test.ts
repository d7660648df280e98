import { expect, test } from 'vitest';
import { bodyOf } from '../../forms.ts';
import { bodyWithUnits, termFields, termSummary, termValues } from './price-terms.ts';

const terms = {
  modifiers: [
    { tier: 'batch', input_usd_per_million: '1.5', output_usd_per_million: '7.5' },
    { above_input_tokens: 200_000, cache_write_ttl: '1h' as const, cache_write_usd_per_million: '6' },
    { region: 'us', multiplier: '1.1' },
  ],
  units: { web_search: '0.01', 'tool:find': '0.002' },
};

test('saving the form without a change keeps modifiers and units', () => {
  const form = new URLSearchParams(termValues(terms) as Record<string, string>);
  expect(bodyWithUnits(bodyOf(termFields, form, 'UTC'))).toEqual(terms);
});

test('an empty form has neither, and a unit without a name is left to the API to reject', () => {
  expect(bodyWithUnits(bodyOf(termFields, new URLSearchParams(), 'UTC'))).toEqual({});
  const form = new URLSearchParams({ 'units.0.usd': '1' });
  expect(bodyWithUnits(bodyOf(termFields, form, 'UTC'))).toEqual({ units: { '': '1' } });
});

test('a list names rates that are not for text tokens, so that no model looks free', () => {
  const none = {
    modifiers: [],
    units: {},
    audio_input_usd_per_million: null,
    image_input_usd_per_million: null,
    cached_image_input_usd_per_million: null,
  };
  expect(termSummary({ ...none, image_usd: '0.02' })).toBe('$0.02 per image');
  expect(termSummary({ ...none, request_usd: '0.005', audio_output_usd_per_million: '80' })).toBe(
    '$0.005 per request, $80.00 audio output',
  );
});

test('a list shows how many there are', () => {
  expect(termSummary(terms)).toBe('3 modifiers, 2 units');
  expect(termSummary({ modifiers: [], units: { page: '1' } })).toBe('1 unit');
  expect(termSummary({ modifiers: [], units: {} })).toBe('–');
});
