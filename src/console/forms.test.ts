import { expect, test } from 'vitest';
import { ApiFailure } from './api.ts';
import { bodyOf, dotted, type Field, type FormState, form, submittedValues, type Values } from './forms.ts';
import { render } from './html.ts';

const fields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text' },
  {
    name: 'mix',
    label: 'Mix',
    kind: 'lines',
    parts: [
      { name: 'from', label: 'From', kind: 'text' },
      { name: 'percent', label: 'Percent', kind: 'number' },
      { name: 'unit', label: 'Unit', kind: 'select', options: [{ value: 'usd', label: 'USD' }] },
    ],
  },
  {
    name: 'deployment',
    label: 'Deployment',
    kind: 'group',
    parts: [
      { name: 'name', label: 'Name', kind: 'text' },
      { name: 'cost', label: 'Cost', kind: 'money' },
    ],
  },
];

const typed = new URLSearchParams({
  name: ' Growth ',
  'mix.0.from': 'a',
  'mix.0.percent': '10',
  'mix.0.unit': 'usd',
  'mix.1.from': '  ',
  'mix.1.percent': '',
  'mix.1.unit': 'usd',
  'mix.2.from': 'b',
  'mix.2.percent': 'much',
  'mix.2.unit': 'usd',
  'deployment.name': 'bot',
  'deployment.cost': '$1,250.50',
});

function renderedForm(shown: readonly Field[], state: FormState): string {
  return render(form({ once: 'token', action: '/', fields: shown, state, submit: 'Save' }));
}

test('lines and groups become objects of the body; empty lines are omitted, even though selects have a value', () => {
  expect(bodyOf(fields, typed, 'UTC')).toEqual({
    name: 'Growth',
    mix: [
      { from: 'a', percent: 10, unit: 'usd' },
      // Invalid numbers stay text, so that the API reports them.
      { from: 'b', percent: 'much', unit: 'usd' },
    ],
    deployment: { name: 'bot', cost: '1250.50' },
  });
  expect(bodyOf(fields, new URLSearchParams({ 'mix.0.unit': 'usd' }), 'UTC')).toEqual({});
});

test.each([
  [' $1,250.50 ', '1250.50', '$1,250.50'],
  ['12,345', '12345', 12_345],
  ['-$0.25', '-0.25', '-$0.25'],
  ['2,50', '2,50', '2,50'],
  ['0,250', '0,250', '0,250'],
  ['1.234,50', '1.234,50', '1.234,50'],
  ['1 2', '1 2', '1 2'],
])('only commas between thousands are removed from “%s”', (text, cost, percent) => {
  const form = new URLSearchParams({ 'deployment.cost': text, 'mix.0.percent': text });
  expect(bodyOf(fields, form, 'UTC')).toEqual({ deployment: { cost }, mix: [{ percent }] });
});

test('unknown fields are ignored, however many there are', () => {
  const sent = new URLSearchParams(typed);
  for (let i = 0; i < 50_000; i += 1) {
    sent.append(`mix.a${i}.from`, 'x');
    sent.append(`mix.0.a${i}`, 'x');
  }
  expect(bodyOf(fields, sent, 'UTC')).toEqual(bodyOf(fields, typed, 'UTC'));
  expect(submittedValues(fields, sent)).toEqual(submittedValues(fields, typed));
});

test('submitted values are rendered again, with field errors beside the right line', () => {
  const failure = new ApiFailure(422, 'validation_failed', 'No.', {
    fields: [
      { field: 'mix[1].percent', code: 'invalid_type', message: 'No number.' },
      { field: 'mix', code: 'too_many', message: 'Too many.' },
      { field: 'other', code: 'required', message: 'Missing.' },
    ],
  });
  const text = renderedForm(fields, { values: submittedValues(fields, typed), failure });
  expect(text).toMatch(
    /name="mix\.1\.percent" aria-describedby="field-mix-1-percent-fault" aria-invalid="true" value="much"/,
  );
  expect(text).toContain('<p class="fault" id="field-mix-1-percent-fault">No number.</p>');
  expect(text).toContain('<p class="fault">Too many.</p></fieldset>');
  expect(text).toContain('<li><code>other</code>: Missing.</li>');
  expect(text).not.toContain('<code>mix');
  // Two filled lines and three empty ones.
  expect(text.match(/name="mix\.\d\.from"/g)).toHaveLength(5);
});

test('a select keeps a value that is not among its options', () => {
  const zone: Field = {
    name: 'zone',
    label: 'Time zone',
    kind: 'select',
    options: [{ value: 'UTC', label: 'UTC' }],
  };
  const shown = (values: Values) =>
    [...renderedForm([zone], { values }).matchAll(/<option value="([^"]*)"( selected)?>/g)].map(
      ([, value, selected]) => [value, selected !== undefined],
    );
  expect(shown({ zone: 'UTC' })).toEqual([['UTC', true]]);
  expect(shown({ zone: 'Etc/UTC' })).toEqual([
    ['UTC', false],
    ['Etc/UTC', true],
  ]);
  expect(shown({})).toEqual([['UTC', false]]);
});

test('a response fills lines and groups', () => {
  expect(dotted([{ from: 'a', percent: 10 }, { from: 'b' }], 'mix')).toEqual({
    'mix.0.from': 'a',
    'mix.0.percent': '10',
    'mix.1.from': 'b',
  });
  expect(dotted(undefined, 'deployment')).toEqual({});
});
