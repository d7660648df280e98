/** Preloaded into a process: shifts its clock by CLOCK_SHIFT_MS, like a changed system clock. */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const realNow = Date.now;
const now = () => realNow() + shiftMs;

globalThis.Date = new Proxy(Date, {
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
});
