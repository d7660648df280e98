/**
 * Calls that are known to break a rule of the adversary. Each entry is removed with the change that closes its gap; a call of an entry is not
 * made. The list should be empty.
 */
import type { PlannedCall } from './adversary-world.ts';
import type { MutationName } from './mutations.ts';

export interface OpenGap {
  readonly cause: string;
  readonly covers: (planned: PlannedCall) => boolean;
}

const hasAny =
  (...names: readonly MutationName[]) =>
  ({ mutations }: PlannedCall) =>
    mutations.some(({ name }) => names.includes(name));

const isServedBy =
  (...names: readonly string[]) =>
  ({ personality }: PlannedCall) =>
    names.includes(personality.name);

export const openGaps: readonly OpenGap[] = [
  {
    cause: 'members beside an image, and images of another type, are not counted',
    covers: hasAny(
      'put text into an image or a file',
      'put text beside a wrong type',
      'leave out a type',
      'add text under an unknown name',
      'spell a type or a role otherwise',
      'replace a value by one of another type',
      'move content into an unknown member',
      'spell a name otherwise',
      'remove a member',
      'nest a value',
    ),
  },
  {
    cause: 'names are compared exactly, and repeated names are found at the top alone',
    covers: hasAny(
      'add a costly member under another spelling',
      'repeat a member with a costly value',
      'repeat a member with an escape in its name',
      'repeat a nested member',
      'add bytes that are not UTF-8',
    ),
  },
  { cause: 'the context is not always that of the catalog', covers: hasAny('extend the context') },
  { cause: 'the outer detail of an image wins', covers: hasAny('contradict the detail of an image') },
  {
    cause: 'searches, predictions and fields of other providers are not held',
    covers: hasAny(
      'add a field of some provider',
      'add a tool that the provider runs',
      'hide a tool',
      'add a maximum of another name',
      'write a costly setting in another type',
      'put a setting into options',
      'count answers under another name',
    ),
  },
  {
    cause: 'the charset of the content type is passed on',
    covers: isServedBy('charset of the content type'),
  },
  {
    cause: 'a compatible provider may not know the maximum',
    covers: isServedBy('only max_tokens', 'every name and value is prompt'),
  },
];

export function isOpenGap(planned: PlannedCall): boolean {
  return openGaps.some(({ covers }) => covers(planned));
}
