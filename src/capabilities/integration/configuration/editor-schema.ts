/** The JSON schema of a configuration file, for editors: that of the API, with the forms that only the command line accepts. */
import { amountFields, referableFields, secretFields } from '../../../contract/configuration-files.ts';
import { Configuration } from './schema.ts';

/** Descriptions of sections whose schema in the API is that of a route. */
const sectionDescriptions: Readonly<Record<string, string>> = {
  org: 'The organization. `slug` identifies it. Fields that are left out stay as they are.',
  chain_budget: 'Limits of each chain of runs.',
  rate_limits: 'Policies are identified by `name`. Only operators can change them.',
  unpriced_models: 'What happens to calls of models without a price.',
  gateway: 'Settings of the gateway.',
  retention_policy: 'How long data is kept.',
  ip_allow_list: 'Addresses from which the organization can be used.',
};

interface EditorSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, EditorSchema>>;
  readonly items?: EditorSchema;
  readonly anyOf?: readonly EditorSchema[];
  readonly format?: string;
  readonly description?: string;
}

export function editorSchema(): object {
  const schema = JSON.parse(JSON.stringify(Configuration)) as EditorSchema;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of an organization in Purser',
    description: 'One document for each organization, for `purser apply`.',
    ...withFileForms(schema),
    properties: Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([section, value]) => [
        section,
        {
          ...(sectionDescriptions[section] !== undefined && { description: sectionDescriptions[section] }),
          ...withReferences(section, withFileForms(value)),
        },
      ]),
    ),
  };
}

/** Allows numbers for amounts, within all objects and lists. */
function withFileForms(schema: EditorSchema): EditorSchema {
  const { properties, items } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [
          name,
          amountFields.test(name) ? withNumber(value) : withFileForms(value),
        ]),
      ),
    }),
    ...(items && { items: withFileForms(items) }),
  };
}

/** Editors do not know the format of the amount; its pattern remains. */
function withNumber({ format: _, type = 'string', ...schema }: EditorSchema): EditorSchema {
  return { ...schema, type: [...[type].flat(), 'number'] };
}

function withReferences(section: string, schema: EditorSchema): EditorSchema {
  const isIn = (fields: typeof secretFields, name: string) =>
    fields.some((one) => one.section === section && one.field === name);
  const referringField = (name: string, value: EditorSchema): EditorSchema => {
    if (isIn(secretFields, name)) {
      return referenceTo(value);
    }
    return isIn(referableFields, name)
      ? { anyOf: [value, referenceTo(value)] }
      : referring(value, `${name}.`);
  };
  const referring = ({ properties, ...others }: EditorSchema, prefix = ''): EditorSchema => ({
    ...others,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [name, referringField(`${prefix}${name}`, value)]),
      ),
    }),
  });
  return schema.items === undefined ? referring(schema) : { ...schema, items: referring(schema.items) };
}

function referenceTo({ description }: EditorSchema): EditorSchema {
  const text = { type: 'string', minLength: 1 };
  const reference = {
    type: 'object',
    properties: {
      env: { ...text, description: 'Variable of the shell that runs `purser apply`.' },
      file: { ...text, description: 'File with the secret; relative to the configuration file.' },
    },
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
  };
  return { ...reference, ...(description !== undefined && { description }) };
}
