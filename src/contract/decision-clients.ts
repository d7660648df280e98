/** First calls for clients without the gateway: a decision before the model call and its settlement afterwards, with a key filled in. */
import type { ClientSnippet } from './gateway-clients.ts';

const request = { model: 'gpt-4o-mini', input_tokens: 1_200, max_output_tokens: 800 };
const outputTokens = 310;

export function decisionSnippets(url: string, key: string): readonly ClientSnippet[] {
  const { model, input_tokens, max_output_tokens } = request;
  return [
    {
      title: 'curl',
      language: 'sh',
      note: 'Request a decision, call the model, then report its usage.',
      text: `DECISION_ID=$(curl -sS ${url}/v1/edge/decision \\
  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "input_tokens": ${input_tokens}, "max_output_tokens": ${max_output_tokens}}' |
  sed 's/.*"decision_id":"\\([^"]*\\)".*/\\1/')

# Call the model here.

curl -sS ${url}/v1/runs \\
  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "input_tokens": ${input_tokens}, "output_tokens": ${outputTokens}, "decision_id": "'$DECISION_ID'"}'`,
    },
    {
      title: 'TypeScript',
      language: 'typescript',
      text: `async function post(path: string, body: object) {
  const response = await fetch(\`${url}/v1\${path}\`, {
    method: 'POST',
    headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) {
    throw new Error(answer.error.message);
  }
  return answer;
}

const { decision_id } = await post('/edge/decision', {
  model: '${model}',
  input_tokens: ${input_tokens},
  max_output_tokens: ${max_output_tokens},
});

// Call the model here.

const run = await post('/runs', {
  model: '${model}',
  input_tokens: ${input_tokens},
  output_tokens: ${outputTokens},
  decision_id,
});
console.log(run.cost_usd);`,
    },
    {
      title: 'Python',
      language: 'python',
      text: `import json
import urllib.request


def post(path, body):
    request = urllib.request.Request(
        "${url}/v1" + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer ${key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


decision = post("/edge/decision", {
    "model": "${model}",
    "input_tokens": ${input_tokens},
    "max_output_tokens": ${max_output_tokens},
})

# Call the model here.

run = post("/runs", {
    "model": "${model}",
    "input_tokens": ${input_tokens},
    "output_tokens": ${outputTokens},
    "decision_id": decision["decision_id"],
})
print(run["cost_usd"])`,
    },
  ];
}

/** Returns snippets that read the spend of the organization, for keys that only report. */
export function reportingSnippets(url: string, key: string, orgId: string): readonly ClientSnippet[] {
  return [
    {
      title: 'curl',
      language: 'sh',
      note: 'Spend by model, as CSV.',
      text: `curl -sS '${url}/v1/orgs/${orgId}/usage?group_by=model&format=csv' -H 'Authorization: Bearer ${key}'`,
    },
  ];
}
