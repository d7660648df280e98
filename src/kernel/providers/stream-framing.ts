/** How the events of a stream are framed in bytes. The gateway has a reader and a writer for each (`gateway/stream/framings.ts`). */
export type StreamFraming =
  /** Server-sent events. */
  | 'sse'
  /** Event streams of AWS (`application/vnd.amazon.eventstream`). The type of an event is the name of its only member: `{"messageStop":{…}}`. */
  | 'aws_events'
  /** Event streams of AWS whose events contain an event of another API in base64. */
  | 'aws_chunks';
