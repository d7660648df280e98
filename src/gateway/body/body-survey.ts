/** Checks the size of a call's body in all respects before it is parsed. */
import { newTally } from '../../platform/http/message/json-limits.ts';
import { JsonScan } from '../../platform/http/message/json-survey.ts';
import type { Sliced } from '../../platform/sliced-work.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** Maximum number of values: for a conversation with all its tools, and for a batch of embeddings, whose texts may be lists of tokens. */
export const bodyValuesMax = 100_000;
export const tokenValuesMax = 400_000;
/** Maximum length of a name. Names in requests are shorter, because texts are values. */
const nameBytesMax = 10_000;

/** Number of bytes that are scanned without a pause, which takes less than a millisecond. */
const stepBytes = 65_536;

/** Throws if parsing the body would take too long or too much memory. */
export function* surveyBody(bytes: Buffer, valuesMax: number): Sliced<JsonScan> {
  const scan = new JsonScan(bytes, newTally(undefined, valuesMax), { nameBytesMax });
  for (let to = stepBytes; !scan.scanTo(Math.min(to, bytes.length)); to += stepBytes) {
    yield;
  }
  const { excess } = scan.survey();
  if (excess !== undefined) {
    throw new GatewayError(400, 'invalid_body', excess);
  }
  return scan;
}
