/** The parts of a browser that signing in needs: cookies per host, redirects one at a time, and forms. */
export interface BrowserAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export class Browser {
  readonly #jars = new Map<string, Map<string, string>>();

  cookies(url: string): string {
    return [...(this.#jars.get(new URL(url).host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
  }

  /** `withCookies: false` sends the request like a form that is posted to another site. */
  async request(
    url: string,
    {
      form,
      origin,
      withCookies = true,
    }: { form?: Record<string, string>; origin?: string; withCookies?: boolean } = {},
  ): Promise<BrowserAnswer> {
    const cookie = withCookies ? this.cookies(url) : '';
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...(cookie !== '' && { cookie }), ...(origin !== undefined && { origin }) },
      ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    });
    this.#remember(url, response.headers.getSetCookie());
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirects until a response is not a redirect, or until the next URL starts with `stopAt`. */
  async follow(start: string, stopAt?: string): Promise<BrowserAnswer> {
    let answer = await this.request(start);
    for (let hops = 0; hops < 12; hops += 1) {
      const location = answer.headers.get('location');
      const next = location === null ? undefined : new URL(location, answer.url).href;
      if (next === undefined || (stopAt !== undefined && next.startsWith(stopAt))) {
        return answer;
      }
      answer = await this.request(next);
    }
    throw new Error('too many redirects');
  }

  #remember(url: string, lines: readonly string[]): void {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';');
      const equals = pair.indexOf('=');
      const name = pair.slice(0, equals).trim();
      const isOver = attributes.some((attribute) =>
        /^\s*(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute),
      );
      if (isOver) {
        jar.delete(name);
      } else {
        jar.set(name, pair.slice(equals + 1));
      }
    }
  }
}
