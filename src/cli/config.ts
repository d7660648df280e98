import { Command } from 'commander';
import { describeSettings, loadConfig, unknownSettings } from '../config/settings.ts';
import { print } from './with-database.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('Show every setting: its meaning, default and present value. Secrets are masked.')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) => {
      const settings = describeSettings();
      if (json === true) {
        print(JSON.stringify(settings, null, 2));
      } else {
        for (const { name, meaning, fallback, present } of settings) {
          print(`${name}\n    ${meaning}\n    default: ${fallback}\n    present: ${present}\n`);
        }
      }
      for (const name of unknownSettings()) {
        process.stderr.write(`${name} is set, but is not a setting of Purser.\n`);
      }
      // Throws, naming the setting, if one of the present values is not usable.
      loadConfig();
    });
}
