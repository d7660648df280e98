export { viewBudget } from './budgets.ts';
export { budgetRoutes } from './routes.ts';
export { type BudgetView, CreateBudget } from './schema.ts';
