/**
 * Bounds for the JSON that identity providers answer. `platform/outbound` bounds its bytes; few bytes can still hold very
 * many values, which take far more memory and time once they are parsed.
 */

/** A few hundred keys fit, or a few thousand groups. */
const valuesMax = 4_000;

/** The same answer, unless it holds too many values. */
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

/** The claims of a token are JSON once more. */
function checkClaims(token: unknown): void {
  const claims = typeof token === 'string' ? token.split('.')[1] : undefined;
  checkValues(Buffer.from(claims ?? '', 'base64url').toString('utf8'));
}

/** Undefined where there is none; that the text is not JSON is found by the code that reads it. */
function idTokenIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly id_token?: unknown } | null)?.id_token;
  } catch {
    return undefined;
  }
}

/** At least as many as there are: each follows a bracket, a brace or a comma that is not inside a string. */
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
