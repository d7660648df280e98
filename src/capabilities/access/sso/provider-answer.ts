/**
 * Limits the number of values in JSON responses of identity providers. `platform/outbound` limits the size of a response. But even
 * a small response can contain very many values, which need far more memory and time once they are parsed.
 */

/** Maximum number of values: enough for a few hundred keys, or a few thousand groups. */
const valuesMax = 4_000;

/** Returns the response unchanged. Throws if it contains too many values. */
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

/** Counts the claims of a token separately, because they are encoded JSON. */
function checkClaims(token: unknown): void {
  const claims = typeof token === 'string' ? token.split('.')[1] : undefined;
  checkValues(Buffer.from(claims ?? '', 'base64url').toString('utf8'));
}

/** Returns the ID token; undefined if there is none. Invalid JSON is ignored here and reported when the response is parsed. */
function idTokenIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly id_token?: unknown } | null)?.id_token;
  } catch {
    return undefined;
  }
}

/**
 * Returns an upper bound of the number of values, without the outermost one. Every other value follows a bracket, a brace or a
 * comma outside of a string.
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
