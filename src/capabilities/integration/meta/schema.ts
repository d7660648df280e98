import { Type } from 'typebox';
import { errorCatalog, errorCodes } from '../../../contract/errors.ts';
import { eventKind, eventSchema, eventTypes } from '../../../contract/events.ts';
import { gatewayErrorCatalog, gatewayErrorCodes } from '../../../contract/gateway-errors.ts';
import { choice, closed, page } from '../../../platform/http/routes/schemas.ts';

export const ErrorEntry = closed({
  code: Type.String(),
  statuses: Type.Array(Type.Integer()),
  details: Type.Array(Type.String(), { description: 'Names of the fields in `details`.' }),
  retry: choice(['after_change', 'after_interval', 'after_window', 'with_backoff', 'never']),
  meaning: Type.String(),
});

export const EventEntry = closed({
  type: Type.String(),
  meaning: Type.String(),
  schema: Type.Unsafe<object>({ type: 'object', description: 'JSON Schema of an event of this type.' }),
  example: Type.Unsafe<object>({ type: 'object', description: 'Example of `data`.' }),
});

export const EventList = page(EventEntry);

export function eventEntries() {
  return eventTypes.map((type) => {
    const { meaning, example } = eventKind(type);
    return { type, meaning, schema: eventSchema(type), example };
  });
}

export const ErrorList = closed({
  ...page(ErrorEntry).properties,
  gateway: Type.Array(ErrorEntry, {
    description:
      'Codes that calls through the gateway have besides those in `data`. Their bodies have the format of the provider. With status 200 ' +
      'the code is in the last event of a stream.',
  }),
});

export function errorEntries() {
  return errorCodes.map((code) => {
    const { statuses, details, retry, meaning } = errorCatalog[code];
    return { code, statuses: [...statuses], details: Object.keys(details.properties), retry, meaning };
  });
}

export function gatewayErrorEntries() {
  return gatewayErrorCodes.map((code) => {
    const { statuses, details, retry, meaning } = gatewayErrorCatalog[code];
    return { code, statuses: [...statuses], details: [...details], retry, meaning };
  });
}
