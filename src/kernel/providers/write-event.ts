/** Server-sent events as the providers write them. */

export function namedEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export function unnamedEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
