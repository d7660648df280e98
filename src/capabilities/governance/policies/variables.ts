/** The variables of expressions for readers: type, meaning and an example that is a complete expression. */
import { type Static, Type } from 'typebox';
import { type PolicyDimension, policyDimensions, runDimensions } from '../../../contract/run-dimensions.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import { variables } from './expression-input.ts';

type VariableName = keyof typeof variables;

type VariableExplanation = readonly [meaning: string, example: string];

const explanations: Readonly<Record<VariableName, VariableExplanation>> = {
  ...dimensionExplanations(),
  model: ['The model.', runDimensions.model.expression],
  key_id: ['The ID of the API key.', runDimensions.key_id.expression],
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

function dimensionExplanations(): Record<PolicyDimension, VariableExplanation> {
  return Object.fromEntries(
    policyDimensions.map((name) => {
      const { noun, expression } = runDimensions[name];
      return [name, [`The ${noun}; empty if not sent.`, expression]];
    }),
  ) as unknown as Record<PolicyDimension, VariableExplanation>;
}

export const VariableView = closed({
  name: Type.String(),
  type: Type.String({ description: 'The CEL type.' }),
  meaning: Type.String(),
  example: Type.String({ description: 'A complete expression.' }),
});
export type VariableView = Static<typeof VariableView>;

export const VariableList = page(VariableView);

export function variableViews(): VariableView[] {
  return (Object.keys(variables) as VariableName[]).map((name) => {
    const [meaning, example] = explanations[name];
    return { name, type: variables[name], meaning, example };
  });
}
