/** Puts requests into the envelope in which a connection takes their format, and takes them out of that of the client. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Connection, type Envelope, kindOf } from '../capabilities/integration/connections/index.ts';
import type { CallFormat } from '../kernel/providers/call-format.ts';
import { type Fields, fieldsOf } from '../kernel/providers/fields.ts';
import type { StreamFraming } from '../kernel/providers/stream-framing.ts';
import { type BodyChanges, editBody, removeMembers } from './body/edit-body.ts';

export interface EnvelopedCall {
  readonly format: CallFormat;
  /** The envelope in which the client has sent the call; undefined: none. */
  readonly sentIn: Envelope | undefined;
  /** Beta features that the client has turned on. */
  readonly betas: readonly string[];
  /** True if the provider is asked for a stream. */
  readonly isStream: boolean;
}

export function envelopeAt(connection: Connection, format: CallFormat): Envelope | undefined {
  return kindOf(connection).envelopes.get(format);
}

/** Returns the framing of streams of a connection, or of a client whose calls are in an envelope. */
export function framingIn(envelope: Envelope | undefined, { response }: CallFormat): StreamFraming {
  return envelope?.framing ?? response.framing;
}

/** Returns the beta features in the header and in the body. */
export function betasOf({ request: { betas } }: CallFormat, header: string, body: Fields): readonly string[] {
  const listed = betas === undefined ? undefined : fieldsOf(body)[betas.member];
  const inBody = Array.isArray(listed) ? listed.filter((name) => typeof name === 'string') : [];
  const inHeader = header.split(',').map((name) => name.trim());
  return [...new Set([...inHeader, ...inBody])].filter((name) => name !== '');
}

/** Returns the body for a connection. `body` has the model of the connection. */
export function envelopedBody(body: Buffer, connection: Connection, call: EnvelopedCall): Buffer {
  const { format, sentIn, betas, isStream } = call;
  const envelope = envelopeAt(connection, format);
  const member = format.request.betas?.member;
  if (envelope !== undefined) {
    const hasBetaMember = member !== undefined && betas.length > 0 && envelope.takesBetaHeader !== true;
    const changes: BodyChanges = { ...envelope.added, ...(hasBetaMember && { [member]: betas }) };
    return editBody(removeMembers(body, new Set(envelope.removed)), changes);
  }
  if (sentIn === undefined) {
    return body;
  }
  const names = [...Object.keys(sentIn.added), ...(member === undefined ? [] : [member])];
  return editBody(removeMembers(body, new Set(names)), isStream ? { stream: true } : {});
}

/** Returns the headers for a connection. */
export function envelopedHeaders(
  headers: IncomingHttpHeaders,
  connection: Connection,
  { format, sentIn, betas }: EnvelopedCall,
): IncomingHttpHeaders {
  const envelope = envelopeAt(connection, format);
  const header = format.request.betas?.header;
  if (envelope !== undefined) {
    const removed = new Set<string | undefined>(Object.keys(envelope.headers));
    if (envelope.takesBetaHeader !== true) {
      removed.add(header);
    }
    return Object.fromEntries(Object.entries(headers).filter(([name]) => !removed.has(name)));
  }
  if (sentIn === undefined) {
    return headers;
  }
  return {
    ...sentIn.headers,
    ...headers,
    ...(header !== undefined && betas.length > 0 && { [header]: betas.join() }),
  };
}
