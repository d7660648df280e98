/** The content of a message, whichever way it is sent. */

export type AlertTone = 'info' | 'warning' | 'critical';

export interface AlertText {
  /** Says the news on its own, as the subject of an e-mail. */
  readonly title: string;
  /** One or two sentences, with the cause and what to do. */
  readonly text: string;
  readonly tone: AlertTone;
  readonly facts?: readonly Fact[];
  /** Lists below the text, such as those of a digest. */
  readonly sections?: readonly AlertSection[];
  /** The page of the console about it. */
  readonly page: { readonly label: string; readonly path: string };
}

export type Fact = readonly [label: string, value: string];

export interface AlertSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/** A text for one organization and event. */
export interface Message extends AlertText {
  readonly orgName: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly at: Date;
  /** The absolute URL of `page`. */
  readonly url: string;
}
