export { type Actor, recordChange } from './journal.ts';
