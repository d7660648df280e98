/** Tools of `Converse`: those of the client are specified, those of Bedrock have a name only. */
import { type Fields, fieldsOf } from '../fields.ts';

/** The members of a tool that the client runs, and of the mark of a cache, which is none. */
const clientMembers = new Set(['toolSpec', 'cachePoint']);

export function isRunByClient(tool: Fields): boolean {
  const names = Object.keys(tool);
  return names.length > 0 && names.every((name) => clientMembers.has(name));
}

/** Returns the names of the tools of Bedrock in an entry of the tools. A tool of another format has a type. */
export function typesOf(tool: Fields): readonly unknown[] {
  const { systemTool, type } = tool;
  const others = Object.keys(tool).filter((name) => !clientMembers.has(name) && name !== 'systemTool');
  return [
    ...(systemTool === undefined ? [] : [fieldsOf(systemTool).name]),
    ...(others.length > 0 ? [type ?? others[0]] : []),
  ];
}

/** Returns the block of a call of a tool of Bedrock in the form that all formats share; nothing for other blocks. */
export function calledTool(block: unknown): Fields {
  const { type, name } = fieldsOf(fieldsOf(block).toolUse);
  return type === 'server_tool_use' ? { type, name } : {};
}
