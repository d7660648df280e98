/** Builds the three headers that announce a deprecation. They are the same on responses and on webhook deliveries. */

/** The values in the headers. Every `Deprecation` of the registry has these values. */
export interface Announcement {
  /** The date of the announcement, `YYYY-MM-DD`. */
  readonly since: string;
  /** Date as an IMF-fixdate. */
  readonly sunset: string;
  /** Path template of the successor, if there is one. */
  readonly replacement?: string;
}

/** A type alias, because an interface cannot be assigned to a record of headers. */
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
