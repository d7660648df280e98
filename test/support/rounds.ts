/** True in `npm run test:soak`, false in `npm test`. */
export const isSoak = process.env.PURSER_TEST_SOAK === '1';

/** Returns the number of repetitions of a test: few in `npm test`, many in `npm run test:soak`. */
export function rounds(usual: number, soak: number): number {
  return isSoak ? soak : usual;
}
