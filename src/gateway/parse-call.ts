/** Parses the body of a metered call: the fields that bound or select its cost. */
import { isUtf8 } from 'node:buffer';
import type { CallFormat, RequestFormat } from '../kernel/providers/call-format.ts';
import {
  choiceFields,
  maxNamesOf,
  type OutputSettings,
  outputSettingsOf,
  thinkingTokensOf,
} from '../kernel/providers/call-request.ts';
import { type Fields, fieldsOf } from '../kernel/providers/fields.ts';
import { snakeCase } from '../kernel/providers/gemini/members.ts';
import { toolLists } from '../kernel/providers/offered-tools.ts';
import { requestsReasoning } from '../kernel/providers/visible-output.ts';
import { isStorable } from '../platform/http/message/json-errors.ts';
import type { Sliced } from '../platform/sliced-work.ts';
import { bodyValuesMax, surveyBody, tokenValuesMax } from './body/body-survey.ts';
import type { CallMemory } from './body/call-memory.ts';
import { objectStartOf } from './body/json-positions.ts';
import { repeatedName } from './body/repeated-name.ts';
import { scoreTexts, slicedBytesMin } from './body/scored-texts.ts';
import { GatewayError } from './errors/gateway-error.ts';

export interface ParsedCall {
  readonly format: CallFormat;
  /** The body as it was received. Empty once the response has begun, because the body is not sent again. */
  bytes: Buffer;
  /** The parsed body. After the admission it only has members that are short and neither objects nor lists. */
  body: Fields;
  readonly model: string;
  readonly isStream: boolean;
  /** True if the client itself has requested the chunk with the usage. */
  readonly includesUsage: boolean;
  /** Fields of the body that limit its output. */
  readonly maxFields: readonly MaximumField[];
  /** The path of the object with the documented fields, with a dot at its end; empty for the body. */
  readonly maxPath: string;
  /** True if the body has only one documented maximum, and compatible providers may not know its name. */
  readonly hasNewerMaximum: boolean;
  /** The smallest value of these fields; undefined if there are none. */
  readonly maxOutputTokens: number | undefined;
  /** Number of alternative answers (`n`). Each of them may have the maximum output. */
  readonly choices: number;
  /** Budget of extended thinking. It is part of the output, so the maximum must be larger. */
  readonly thinkingTokens: number;
  readonly requestsReasoning: boolean;
  readonly hasTools: boolean;
}

export interface MaximumField {
  readonly name: string;
  /** The path in the body, with dots between its names. */
  readonly path: string;
  readonly tokens: number;
}

/** What the path of a request says in place of its body. */
export interface PathValues {
  readonly deployment?: string;
  readonly isStream?: boolean;
}

const modelMax = 200;
const choicesMax = 1_000;

/** Parses the body. `deployment` is the model in the path. As in Azure, a model in the body is ignored then. Gemini's must be the same. */
export function* parseCall(
  format: CallFormat,
  bytes: Buffer,
  memory: CallMemory,
  { deployment, isStream }: PathValues = {},
): Sliced<ParsedCall> {
  const { output, takesTokenIds, isModelInPath } = format.request;
  const body = yield* parseObject(bytes, memory, takesTokenIds ? tokenValuesMax : bodyValuesMax);
  const model = deployment ?? body.model;
  if (!isLabel(model)) {
    throw invalid('model', `must be a string of 1 to ${modelMax} characters`);
  }
  if (isModelInPath) {
    requireModel(body, model);
  }
  requireFlag(body, 'stream');
  requireFlag(body, 'background');
  if (isStream !== undefined && body.stream != null && body.stream !== isStream) {
    throw invalid('stream', 'must be that of the path');
  }
  if (body.background === true) {
    // A background response is created after the call, so the gateway would not see its usage.
    throw invalid('background', 'is not supported by the gateway');
  }
  const refused = format.request.refusalOf(body);
  if (refused !== undefined) {
    throw invalid(refused.name, refused.rule);
  }
  requireText(body, 'speed');
  refuseOtherModels(body, model);
  const settings = outputSettingsOf(format, body);
  if (settings.repeated !== undefined) {
    throw invalid(settings.repeated, 'is given in two spellings');
  }
  refuseModelChoices(body, settings);
  const maxFields = maxFieldsOf(format, settings);
  return {
    format,
    bytes,
    body,
    model,
    isStream: isStream ?? body.stream === true,
    includesUsage: fieldsOf(body.stream_options).include_usage === true,
    maxFields,
    maxPath: settings.path,
    hasNewerMaximum:
      output !== undefined && body[output.maxName] != null && body[output.compatibleMaxName] == null,
    maxOutputTokens: maxFields.length === 0 ? undefined : Math.min(...maxFields.map(({ tokens }) => tokens)),
    choices: output === undefined ? 1 : Math.max(...settings.objects.map(({ fields }) => choicesOf(fields))),
    thinkingTokens: Math.max(...settings.objects.map(({ fields }) => thinkingTokensOf(fields))),
    requestsReasoning: settings.objects.some(({ fields }) => requestsReasoning(fields)),
    hasTools: toolLists(body).length > 0 || Array.isArray(body.functions),
  };
}

/** Parses a call, and scores its texts if the body is large. Runs in slices, because either may take seconds. */
export function* readCall(
  ...[format, bytes, memory, path]: Parameters<typeof parseCall>
): Sliced<ParsedCall> {
  const call = yield* parseCall(format, bytes, memory, path);
  if (bytes.length >= slicedBytesMin) {
    yield;
    yield* scoreTexts(call.body);
  }
  return call;
}

const noBytes = Buffer.alloc(0);

/** Drops the parts of the body that only planning needs. They may take hundreds of megabytes of heap. */
export function dropContent(call: ParsedCall): void {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(call.body)) {
    if (typeof value === 'string' ? value.length <= modelMax : typeof value !== 'object') {
      kept[name] = value;
    }
  }
  call.body = kept;
}

export function dropBytes(call: ParsedCall): void {
  call.bytes = noBytes;
}

function maxFieldsOf(format: CallFormat, { objects }: OutputSettings): MaximumField[] {
  return objects.flatMap(({ path, fields }) =>
    maxNamesOf(format)
      .filter((name) => fields[name] != null)
      .map((name) => ({
        name,
        path: `${path}${name}`,
        tokens: maximumOf(format.request, fields[name], `${path}${name}`),
      })),
  );
}

/** Throws if the body names another model than the path: a provider might serve that one. */
function requireModel(body: Fields, model: string): void {
  const { requests } = body;
  const inner = Array.isArray(requests) ? requests.map(fieldsOf) : [];
  for (const { model: named } of [body, ...inner]) {
    if (named != null && named !== model && named !== `models/${model}`) {
      throw invalid('model', 'must be that of the path');
    }
  }
}

/** Returns the largest value of all fields that some provider reads as the number of answers. */
function choicesOf(body: Fields): number {
  let choices = 1;
  for (const name of choiceFields) {
    if (body[name] != null) {
      choices = Math.max(choices, countOf(body[name], name));
      if (choices > choicesMax) {
        throw invalid(name, `must be at most ${choicesMax}`);
      }
    }
  }
  return choices;
}

/** Fields with models that a provider may use instead of the requested one, at other prices. */
const otherModels = ['models', 'fallbacks'];
/** Settings of Vertex AI by which it chooses the model itself. */
const modelChoices = ['routingConfig', 'modelConfig', 'modelSelectionConfig'].flatMap((name) => [
  name,
  snakeCase(name),
]);

function refuseOtherModels(body: Fields, model: string): void {
  for (const name of otherModels) {
    const models = body[name];
    const isSame = Array.isArray(models) && models.every((one) => one === model);
    if (models != null && !isSame) {
      throw invalid(name, useRoutingPolicy);
    }
  }
}

const useRoutingPolicy = 'is not supported by the gateway: use the routing policy of Purser instead';

function refuseModelChoices(body: Fields, { objects }: OutputSettings): void {
  for (const { path, fields } of [{ path: '', fields: body }, ...objects]) {
    for (const name of modelChoices) {
      if (fields[name] != null) {
        throw invalid(`${path}${name}`, useRoutingPolicy);
      }
    }
  }
}

/** Throws unless the member is absent or a boolean, because some providers read `1`, `"true"` and others as true. */
function requireFlag(body: Fields, name: string): void {
  if (body[name] != null && typeof body[name] !== 'boolean') {
    throw invalid(name, 'must be true or false');
  }
}

function requireText(body: Fields, name: string): void {
  if (body[name] != null && typeof body[name] !== 'string') {
    throw invalid(name, 'must be a string');
  }
}

/** Returns the end user that the body names, if there is one. */
export function endUserOf({ format, body }: ParsedCall): string | undefined {
  const user = format.request.endUserOf(body);
  return isLabel(user) ? user : undefined;
}

/** Returns true for a label. Other texts cannot be stored or limited. */
export function isLabel(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= modelMax && isStorable(value);
}

const charsets = /charset\s*=\s*"?([^";,\s]*)/gi;
const utf8Names = new Set(['utf-8', 'utf8', 'us-ascii']);

/** Throws if the content type has a charset other than UTF-8. */
export function requireUtf8(contentType: string | undefined): void {
  for (const [, charset = ''] of (contentType ?? '').matchAll(charsets)) {
    if (!utf8Names.has(charset.toLowerCase())) {
      throw new GatewayError(
        400,
        'invalid_header',
        '`Content-Type` must not name a charset other than UTF-8.',
      );
    }
  }
}

export function* parseObject(bytes: Buffer, memory: CallMemory, valuesMax = bodyValuesMax): Sliced<Fields> {
  if (!isUtf8(bytes)) {
    throw new GatewayError(400, 'invalid_json', 'The body is not valid UTF-8.');
  }
  const scan = yield* surveyBody(bytes, valuesMax);
  memory.holdParsed(scan.values);
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new GatewayError(400, 'invalid_json', 'The body is not valid JSON.');
  }
  if (objectStartOf(bytes) === undefined) {
    throw new GatewayError(400, 'invalid_json', 'The body must be a JSON object.');
  }
  const fields = fieldsOf(body);
  const repeated = repeatedName(bytes, fields, scan.survey().members);
  if (repeated !== undefined) {
    throw new GatewayError(
      400,
      'invalid_json',
      `The name ${JSON.stringify(repeated)} appears more than once in one object.`,
      {
        field: repeated,
      },
    );
  }
  return fields;
}

function maximumOf({ output }: RequestFormat, value: unknown, name: string): number {
  const count = countOf(value, name);
  if (count === 0 && output?.mayBeZero !== true) {
    throw invalid(name, 'must be at least 1');
  }
  return count;
}

function countOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(name, 'must be a non-negative integer');
  }
  return value;
}

function invalid(name: string, rule: string): GatewayError {
  return new GatewayError(400, 'invalid_value', `\`${name}\` ${rule}.`, { field: name });
}
