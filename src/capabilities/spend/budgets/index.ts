export { viewBudget } from './budgets.ts';
export { budgetRoutes } from './routes.ts';
