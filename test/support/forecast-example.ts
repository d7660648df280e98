/** Half a year of a deployment that teams joined one after the other, for the chart of the guide and for its test. */
import { normal, seededRandom } from './series.ts';

export interface ExampleWeek {
  readonly teams: number;
  readonly valueUsd: number;
  readonly costUsd: number;
}

const costPerTeamUsd = 90;

/** From two teams to fourteen. The first found the best uses: together they are worth 4,000 dollars a week at most. */
export function exampleWeeks(): ExampleWeek[] {
  const random = seededRandom(11);
  return Array.from({ length: 26 }, (_, week) => {
    const teams = 2 + Math.floor(week / 2);
    const worth = 4_000 * (1 - Math.exp(-teams / 9)) * Math.exp(0.05 * normal(random));
    // In whole cents per team, so that what is recorded adds up to exactly this.
    const valueUsd = (Math.round((worth / teams) * 100) / 100) * teams;
    return { teams, valueUsd: Math.round(valueUsd * 100) / 100, costUsd: costPerTeamUsd * teams };
  });
}
