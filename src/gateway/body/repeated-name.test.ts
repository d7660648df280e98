import { expect, test } from 'vitest';
import { completed } from '../../platform/sliced-work.ts';
import { surveyBody } from './body-survey.ts';
import { repeatedName } from './repeated-name.ts';

function repeated(text: string): string | undefined {
  const bytes = Buffer.from(text);
  return repeatedName(bytes, JSON.parse(text), completed(surveyBody(bytes, 1_000)).survey().members);
}

test.each([
  ['{"max_tokens":1,"b":2,"max_\\u0074okens":9}', 'max_tokens'],
  ['{"stream_options":{"include_usage":false,"include_usage":true}}', 'include_usage'],
  ['{"messages":[{"role":"user","content":"a","content":"b"}]}', 'content'],
  ['{"tools":[{"input_schema":{"type":"object","properties":{},"properties":{}}}]}', 'properties'],
  ['{"a":{"__proto__":1,"__proto__":2}}', '__proto__'],
  ['{"":1,"":2}', ''],
])('a name that appears twice in one object is found: %s', (text, name) => {
  expect(repeated(text)).toBe(name);
});

test('names of different objects, and colons in texts, are no repetition', () => {
  for (const text of [
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '{"a":"\\"b\\":1,\\"b\\":2","b":"::"}',
    '{"__proto__":{"a":1},"constructor":2,"1":3}',
    '{}',
  ]) {
    expect([text, repeated(text)]).toEqual([text, undefined]);
  }
});
