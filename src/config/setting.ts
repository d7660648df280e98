/** The declaration of one setting, and the usual kinds of values. */
import { parseBoolean, parseChoice, parseInteger, parseUrl } from './parsers.ts';

export interface Setting<Value> {
  readonly name: string;
  readonly meaning: string;
  /** Default in the form that an operator would write; undefined if the setting is optional. */
  readonly fallback: string | undefined;
  readonly secret?: boolean;
  /** Date of the deprecation, replacement and end of support. The text completes a sentence that starts with the name. */
  readonly deprecated?: string;
  /** Returns the value. The message of its error describes a valid value ("an integer from 1 to 10"). */
  parse(text: string, env: NodeJS.ProcessEnv): Value;
}

export function text(name: string, fallback: string, meaning: string): Setting<string> {
  return { name, meaning, fallback, parse: (value) => value };
}

export function integer(
  name: string,
  fallback: string | undefined,
  meaning: string,
  min: number,
  max: number,
): Setting<number> {
  return {
    name,
    meaning,
    fallback,
    parse: (value) => parseInteger(value, min, max),
  };
}

export function flag(name: string, meaning: string, fallback: 'true' | 'false' = 'false'): Setting<boolean> {
  return {
    name,
    meaning: `${meaning} \`true\` or \`false\`.`,
    fallback,
    parse: parseBoolean,
  };
}

export function oneOf(
  name: string,
  fallback: string,
  meaning: string,
  choices: readonly string[],
): Setting<string> {
  return {
    name,
    meaning: `${meaning} One of ${choices.join(', ')}.`,
    fallback,
    parse: (value) => parseChoice(value, choices),
  };
}

export function url(name: string, fallback: string | undefined, meaning: string): Setting<string> {
  return {
    name,
    meaning,
    fallback,
    parse: (value) => parseUrl(value, ['http:', 'https:']).replace(/\/+$/, ''),
  };
}

/** Declares an optional setting. Without a value and a fallback, `read` returns undefined without calling the parser. */
export function optional<Value>(setting: Setting<Value>): Setting<Value | undefined> {
  return setting;
}

/** Returns a shell variable whose name is given by a command line option. */
export function shellVariable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env[name];
}
