/** Compares the error catalog with the frozen contract. Codes and details may be added, never removed. */
import type { Evidence } from './evidence.ts';
import type { FrozenContract, FrozenDetail } from './frozen-contract.ts';
import { broken } from './promises.ts';
import { normalize, type Schema } from './schema-form.ts';

export function checkCodes(contract: FrozenContract, { catalog }: Pick<Evidence, 'catalog'>): string[] {
  const added = Object.keys(catalog)
    .filter((code) => !/^[a-z]+(_[a-z]+)*$/.test(code))
    .map((code) => broken('codes', `the code ${code} is not snake_case`));
  return [
    ...added,
    ...Object.entries(contract.codes).flatMap(([code, { statuses, details }]) => {
      const entry = catalog[code];
      if (entry === undefined) {
        return [broken('codes', `the code ${code} was removed or renamed`)];
      }
      return [
        ...(String(entry.statuses) === String(statuses)
          ? []
          : [
              broken(
                'codes',
                `the code ${code} has the status ${entry.statuses.join(' or ')}, not ${statuses.join(' or ')}`,
              ),
            ]),
        ...checkDetails(contract, code, details, normalize(entry.details)),
      ];
    }),
  ];
}

function checkDetails(
  contract: FrozenContract,
  code: string,
  details: Readonly<Record<string, FrozenDetail>>,
  schema: Schema,
): string[] {
  const fields = (schema.properties ?? {}) as Record<string, Schema>;
  const required = (schema.required ?? []) as string[];
  return Object.entries(details).flatMap(([name, wanted]) => {
    const field = fields[name];
    if (field === undefined) {
      return [broken('details', `details.${name} of ${code} was removed or renamed`)];
    }
    return [
      ...(wanted.optional === true || required.includes(name)
        ? []
        : [broken('details', `details.${name} of ${code} may now be left out`)]),
      ...(wanted.values ?? [])
        .filter((value) => !allows(field, value))
        .map((value) => broken('removal', `details.${name} of ${code} lost its value ${value}`)),
      ...(wanted.type === undefined || hasType(contract, field, wanted.type)
        ? []
        : [broken('details', `details.${name} of ${code} is no longer a value of type ${wanted.type}`)]),
    ];
  });
}

/** A field that accepts any text allows every value; tests next to the code check the actual values. */
function allows(field: Schema, value: string): boolean {
  const alternatives = field.anyOf as readonly Schema[] | undefined;
  if (alternatives !== undefined) {
    return alternatives.some((one) => allows(one, value));
  }
  const values = field.enum as unknown[] | undefined;
  if (values !== undefined) {
    return values.includes(value);
  }
  return String(field.type) === 'string' && (field.pattern === undefined || matches(field, value));
}

function hasType(contract: FrozenContract, field: Schema, type: NonNullable<FrozenDetail['type']>): boolean {
  const text = String(field.type) === 'string';
  switch (type) {
    case 'decimal string':
      return text && field.format !== 'date-time' && matches(field, '12.345') && !matches(field, 'twelve');
    case 'timestamp':
      return text && field.format === 'date-time';
    case 'integer':
      return String(field.type) === 'integer';
    case 'field errors': {
      const item = (field.items ?? {}) as Schema;
      const required = (item.required ?? []) as string[];
      const parts = (item.properties ?? {}) as Record<string, Schema>;
      return (
        String(field.type) === 'array' &&
        contract.field_error.fields.every(
          (name) => required.includes(name) && String(parts[name]?.type) === 'string',
        )
      );
    }
  }
}

function matches({ pattern }: Schema, text: string): boolean {
  return typeof pattern === 'string' && new RegExp(pattern).test(text);
}

/** The codes of field errors are an open list, published as the words in its description. */
export function checkFieldErrors(contract: FrozenContract, { catalog }: Pick<Evidence, 'catalog'>): string[] {
  type Described = { properties?: { code?: { description?: string } } };
  const fields = (
    catalog.validation_failed?.details.properties as { fields?: { items?: Described } } | undefined
  )?.fields;
  const description = fields?.items?.properties?.code?.description ?? '';
  const published = [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code);
  return contract.field_error.codes
    .filter((code) => !published.includes(code))
    .map((code) => broken('fieldErrors', `the field error code ${code} was removed or renamed`));
}
