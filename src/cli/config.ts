import { Command } from 'commander';
import { describeSettings, loadConfig, unknownSettings } from '../config/settings.ts';
import { print } from './with-database.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('Show all settings with their meaning, default and current value. Secrets are masked.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => {
      const settings = describeSettings();
      if (json === true) {
        print(JSON.stringify(settings, null, 2));
      } else {
        for (const { name, meaning, fallback, present } of settings) {
          print(`${name}\n    ${meaning}\n    default: ${fallback}\n    current: ${present}\n`);
        }
      }
      for (const name of unknownSettings()) {
        process.stderr.write(`Unknown setting ${name}: check the spelling.\n`);
      }
      // Throws an error that names the invalid settings.
      loadConfig();
    });
}
