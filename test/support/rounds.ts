/** How often a repeated test repeats: a few times in `npm test`, many times in `npm run test:soak`. */
export function rounds(usual: number, soak: number): number {
  return process.env.PURSER_TEST_SOAK === '1' ? soak : usual;
}
