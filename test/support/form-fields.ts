/** The fields of forms in HTML, as a browser submits them if the visitor changes nothing. */

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
export const withoutEntities = (text: string) =>
  text.replaceAll(/&(#39|\w+);/g, (_, name: string) => entities[name] ?? '');

export function fieldsIn(content: string): URLSearchParams {
  const fields = new URLSearchParams();
  const controls = /<input\b([^>]*)>|<(textarea|select)\b([^>]*)>(.*?)<\/\2>/gs;
  for (const [, own, kind, outer = '', inner = ''] of content.matchAll(controls)) {
    const attributes = own ?? outer;
    const name = /\bname="([^"]*)"/.exec(attributes)?.[1];
    const value = withoutEntities(/\bvalue="([^"]*)"/.exec(attributes)?.[1] ?? '');
    if (name === undefined) {
      continue;
    }
    if (kind === 'textarea') {
      fields.append(name, withoutEntities(inner).replaceAll('\n', '\r\n'));
    } else if (kind === 'select') {
      const options = [...inner.matchAll(/<option value="([^"]*)"( selected)?/g)];
      const chosen = options.find(([, , selected]) => selected !== undefined) ?? options[0];
      fields.append(name, withoutEntities(chosen?.[1] ?? ''));
    } else if (!attributes.includes('type="checkbox"') || / checked\b/.test(attributes)) {
      fields.append(name, value);
    }
  }
  return fields;
}
