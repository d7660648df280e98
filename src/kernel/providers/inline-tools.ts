/** Tools that the messages or items of a request add to those of its `tools`. */
import { type Fields, fieldsOf } from './fields.ts';

/** Members of a message, an item or a block that have content, or tools, of their own. */
const containers = ['content', 'tool', 'tool_changes'];
/** The type of an item that lists the tools of an MCP server. It is a result and does not offer these tools. */
const listedTools = 'mcp_list_tools';

/**
 * Returns the tools as the request has them: `additional_tools` and results of tool searches of the Responses API, and
 * `tool_definition` of Anthropic. Members of other formats count too, because a provider may read them.
 */
export function inlineTools({ input, messages }: Fields): readonly unknown[] {
  const found: unknown[] = [];
  // Not recursive: a request may nest values deeper than the call stack allows.
  const left: unknown[] = [input, messages];
  while (left.length > 0) {
    const value = left.pop();
    if (Array.isArray(value)) {
      for (const one of value) {
        if (typeof one === 'object' && one !== null) {
          left.push(one);
        }
      }
      continue;
    }
    const fields = fieldsOf(value);
    if (fields.type !== listedTools && fields.tools != null) {
      found.push(...(Array.isArray(fields.tools) ? fields.tools : [fields.tools]));
    }
    if (fields.definition != null) {
      found.push(fields.definition);
    }
    for (const name of containers) {
      if (typeof fields[name] === 'object' && fields[name] !== null) {
        left.push(fields[name]);
      }
    }
  }
  return found;
}
