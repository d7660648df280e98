/** The variables of expressions for readers: type, meaning, and an example that is a complete expression. */
import { type Static, Type } from 'typebox';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import { variables } from './expression-input.ts';

type Name = keyof typeof variables;

const explanations: Readonly<Record<Name, readonly [meaning: string, example: string]>> = {
  model: ['The model.', 'model.startsWith("gpt-4")'],
  provider: ['The provider; empty if not sent.', 'provider == "openai"'],
  action: ['The action; empty if not sent.', 'action == "email.send_bulk"'],
  workflow: ['The workflow; empty if not sent.', 'workflow == "code-review"'],
  deployment: ['The deployment; empty if not sent.', 'deployment == "production"'],
  department: ['The department; empty if not sent.', 'department != "engineering"'],
  team: ['The team; empty if not sent.', 'team in ["research", "platform"]'],
  customer_id: ['The end customer; empty if not sent.', 'customer_id == "acme"'],
  member_id: ['The member or developer; empty if not sent.', 'member_id != ""'],
  key_id: ['The ID of the API key.', 'key_id == "key_01hzy4t0000000000000000000"'],
  role: ['The role of the API key.', 'role in ["viewer", "member"]'],
  cost_usd: ['The cost of the run, or its maximum while it is in progress.', 'cost_usd > 5.0'],
  input_tokens: ['Tokens of the input.', 'input_tokens > 100000'],
  output_tokens: ['Tokens of the output.', 'output_tokens > 4000'],
  hour: ['The hour, 0 to 23, in the time zone of the organization.', 'hour < 8 || hour >= 18'],
  weekday: ['The day of the week: 1 is Monday, 7 is Sunday.', 'weekday >= 6'],
  date: ['The date, as YYYY-MM-DD.', 'date >= "2026-12-24"'],
  tags: ['Tags by name.', '"env" in tags && tags.env == "production"'],
  metadata: ['Metadata of the run.', 'has(metadata.priority) && metadata.priority == "low"'],
};

export const VariableView = closed({
  name: Type.String(),
  type: Type.String({ description: 'The CEL type.' }),
  meaning: Type.String(),
  example: Type.String({ description: 'A complete expression.' }),
});
export type VariableView = Static<typeof VariableView>;

export const VariableList = page(VariableView);

export function variableViews(): VariableView[] {
  return (Object.keys(variables) as Name[]).map((name) => {
    const [meaning, example] = explanations[name];
    return { name, type: variables[name], meaning, example };
  });
}
