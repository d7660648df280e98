/** What is served outside the JSON API: health, metrics and documentation. Open to everyone, never enveloped. */
export interface Page {
  readonly path: string;
  handler(): Promise<PageAnswer>;
}

export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}
