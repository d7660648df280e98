/** Generates the document of all settings, with the content of `purser config`. */
import { describeSettings } from '../src/config/settings.ts';

export function settingsPage(): string {
  const rows = describeSettings({}).map(
    ({ name, fallback, meaning }) =>
      `| \`${name}\` | ${fallback === '(unset)' ? '' : `\`${fallback}\``} | ${meaning} |`,
  );
  return `# Settings

Environment variables. \`npm run --silent purser -- config\` prints them with their current values.

| setting | default | meaning |
|---|---|---|
${rows.join('\n')}
`;
}
