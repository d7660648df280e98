import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OrgQueues, type QueuedOrg } from './org-queues.ts';

const voiding = (holdId: string) => ({ kind: 'void', holdId }) as const;

test('an org is in one batch at most, also if its group is forgotten while it waits', async () => {
  const groups = new Map([['a', 1]]);
  const running = new Set<string>();
  const executed: string[] = [];
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const queues = new OrgQueues<never>({
    groupOf: (orgId) => groups.get(orgId),
    executeFree: async () => [],
    executeSoon: async () => [],
    async executeAlone({ orgId, commands }: QueuedOrg<never>) {
      expect(running, 'no batch with this org').not.toContain(orgId);
      expect(commands, 'a batch has commands').not.toEqual([]);
      running.add(orgId);
      await held;
      running.delete(orgId);
      for (const { command, resolve } of commands) {
        executed.push(command.kind === 'void' ? command.holdId : command.kind);
        resolve(undefined);
      }
    },
  });

  const first = queues.enqueue('a', voiding('1'));
  groups.clear();
  const second = queues.enqueue('a', voiding('2'));
  await setImmediate();
  const third = queues.enqueue('a', voiding('3'));
  await setImmediate();
  letGo();
  await Promise.all([first, second, third]);
  expect(executed).toEqual(['1', '2', '3']);
});
