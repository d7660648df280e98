import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { eventKind, eventSchema, eventTypes } from './events.ts';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
formats.default(ajv);

test.each(eventTypes)(
  'the example of %s matches its schema, and its documented fields are required',
  (type) => {
    const { example, meaning } = eventKind(type);
    const event = {
      id: 'evt_1',
      type,
      created_at: '2026-11-15T12:00:00.000Z',
      org_id: 'org_1',
      data: example,
    };
    const isEvent = ajv.compile(eventSchema(type));
    expect(isEvent(event), JSON.stringify(isEvent.errors)).toBe(true);
    expect(isEvent({ ...event, data: {} })).toBe(false);
    expect(isEvent({ ...event, type: 'other.type' })).toBe(false);
    expect(meaning).toMatch(/\.$/);
  },
);

test('event types are named `subject.what_happened`, so that `subject.*` selects them', () => {
  for (const type of eventTypes) {
    expect(type).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/);
  }
});
