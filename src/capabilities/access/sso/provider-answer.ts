/**
 * Limits the number of values in the JSON responses of identity providers. `platform/outbound` limits the size of a
 * response, but even a small one can contain very many values, which need far more memory and time once they are
 * parsed.
 */

/** Enough for a few hundred keys, or a few thousand groups. */
const valuesMax = 4_000;

/** Returns the response unchanged; throws if it contains too many values. */
export async function checkedAnswer(response: Response): Promise<Response> {
  const text = await response.clone().text();
  checkValues(text);
  const isToken = response.headers.get('content-type')?.startsWith('application/jwt') === true;
  checkClaims(isToken ? text : idTokenIn(text));
  return response;
}

function checkValues(json: string): void {
  if (countValues(json) > valuesMax) {
    throw new Error(`the provider answered more than ${valuesMax} values`);
  }
}

/** The claims of a token are encoded JSON, so their values are counted separately. */
function checkClaims(token: unknown): void {
  const claims = typeof token === 'string' ? token.split('.')[1] : undefined;
  checkValues(Buffer.from(claims ?? '', 'base64url').toString('utf8'));
}

/**
 * Returns undefined if the text contains no ID token. Invalid JSON is reported by the code that parses the response
 * later.
 */
function idTokenIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly id_token?: unknown } | null)?.id_token;
  } catch {
    return undefined;
  }
}

/**
 * Returns an upper bound, without the outermost value: every other value follows a bracket, a brace or a comma that is
 * not inside a string.
 */
function countValues(json: string): number {
  let count = 0;
  let isInString = false;
  for (let i = 0; i < json.length; i += 1) {
    const character = json[i];
    if (isInString && character === '\\') {
      i += 1;
    } else if (character === '"') {
      isInString = !isInString;
    } else if (!isInString && (character === '{' || character === '[' || character === ',')) {
      count += 1;
    }
  }
  return count;
}
