/** Fixtures that a test file declares in one line, and that hooks create: `const world = useWorld()`. */
import { afterAll, beforeAll } from 'vitest';

/** Creates a fixture before the tests, and closes it after them. The fixture declared last is closed first. */
export function useFixture<T extends { close(): unknown }>(create: () => Promise<T>): T {
  let fixture: T | undefined;
  beforeAll(async () => {
    fixture = await create();
  });
  afterAll(() => fixture?.close());
  return forwardTo(() => fixture);
}

/** Returns an object that forwards to the current one. Throws if it is used before there is one. */
export function forwardTo<T extends object>(current: () => T | undefined): T {
  const existing = () => {
    const object = current();
    if (object === undefined) {
      throw new Error(
        'Used before its hook has run: use it in tests, and in hooks that are declared after it.',
      );
    }
    return object;
  };
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(existing(), name),
    set: (_, name, value) => Reflect.set(existing(), name, value),
    defineProperty: (_, name, descriptor) => Reflect.defineProperty(existing(), name, descriptor),
    ownKeys: () => Reflect.ownKeys(existing()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(existing(), name),
  });
}
