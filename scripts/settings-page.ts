/** Every setting as a document for people: what `purser config` prints, for whoever has not started it yet. */
import { describeSettings } from '../src/config/settings.ts';

export function settingsPage(): string {
  const rows = describeSettings({}).map(
    ({ name, fallback, meaning }) =>
      `| \`${name}\` | ${fallback === '(unset)' ? '' : `\`${fallback}\``} | ${meaning} |`,
  );
  return `# Settings

Environment variables. \`npm run --silent purser -- config\` prints them with their present values.

| setting | default | meaning |
|---|---|---|
${rows.join('\n')}
`;
}
