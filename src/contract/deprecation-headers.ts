/** The text of the three headers that tell of a deprecation, the same on responses and on webhook deliveries. */

/** What the headers are made of; `Deprecation` of the registry is one. */
export interface Announcement {
  /** When it was announced, `YYYY-MM-DD`. */
  readonly since: string;
  /** An IMF-fixdate. */
  readonly sunset: string;
  /** The successor's template, where there is one. */
  readonly replacement?: string;
}

/** A type and no interface, so that it fits wherever headers are taken by name. */
export type DeprecationHeaders = {
  readonly deprecation: string;
  readonly sunset: string;
  readonly link: string;
};

export function deprecationHeaders(
  { since, sunset, replacement }: Announcement,
  docsUrl: string,
): DeprecationHeaders {
  const documentation = `<${docsUrl}>; rel="deprecation"`;
  return {
    deprecation: `@${Date.parse(`${since}T00:00:00Z`) / 1_000}`,
    sunset,
    link:
      replacement === undefined
        ? documentation
        : `${documentation}, <${replacement}>; rel="successor-version"`,
  };
}
