/** Server-sent events as the providers write them. */
import type { GatewayErrorCode } from '../../contract/gateway-errors.ts';

export function namedEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export function unnamedEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** The code of an error event. */
export const interruptedCode: GatewayErrorCode = 'stream_interrupted';
