/** Members of `generateContent`. The API reads each name in camelCase and in snake_case. */
import {
  type FormatMembers,
  listOrOne,
  type MemberKind,
  type MemberTable,
  members,
  objectOf,
} from '../member-kinds.ts';

/** Returns a table with both spellings of each name. */
export function bothCases(texts: string, others: Readonly<Record<string, MemberKind>> = {}): MemberTable {
  return new Map(
    [...members(texts, others)].flatMap(([name, kind]) => [
      [snakeCase(name), kind],
      [name, kind],
    ]),
  );
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Media in the request are inline; files and videos by their URI are not in it. */
const media = { inlineData: 'inlineMedia', fileData: 'reference' } as const;

const functionResponse = bothCases('id name willContinue scheduling', {
  response: 'json',
  parts: listOrOne(bothCases('', media)),
});

const part = bothCases('text thought', {
  ...media,
  thoughtSignature: 'encrypted',
  functionCall: objectOf(bothCases('id name willContinue', { args: 'json', partialArgs: 'json' })),
  functionResponse: objectOf(functionResponse),
  executableCode: objectOf(bothCases('id language code')),
  codeExecutionResult: objectOf(bothCases('id outcome output')),
  toolCall: 'json',
  toolResponse: 'json',
  videoMetadata: 'settings',
  mediaResolution: 'settings',
  partMetadata: 'json',
});

export const geminiContent = bothCases('role', { parts: listOrOne(part) });

const generationConfig = bothCases(
  'temperature topP topK seed candidateCount maxOutputTokens stopSequences responseMimeType responseModalities presencePenalty ' +
    'frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers mediaResolution audioTimestamp',
  {
    responseSchema: 'json',
    responseJsonSchema: 'json',
    _responseJsonSchema: 'json',
    thinkingConfig: objectOf(bothCases('includeThoughts thinkingBudget thinkingLevel')),
    speechConfig: 'settings',
    imageConfig: 'settings',
  },
);

const functionDeclaration = bothCases('name description behavior', {
  parameters: 'json',
  parametersJsonSchema: 'json',
  response: 'json',
  responseJsonSchema: 'json',
});

export const geminiMembers: FormatMembers = {
  request: bothCases('model store serviceTier', {
    contents: listOrOne(geminiContent),
    systemInstruction: objectOf(geminiContent),
    generationConfig: objectOf(generationConfig),
    tools: 'tools',
    toolConfig: 'settings',
    safetySettings: 'settings',
    cachedContent: 'reference',
    labels: 'json',
  }),
  tool: bothCases('', { functionDeclarations: listOrOne(functionDeclaration), computerUse: 'settings' }),
};
