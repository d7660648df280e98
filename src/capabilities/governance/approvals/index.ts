export { approvalExpiry, endApprovalsOfRule } from './expiry.ts';
export { isOwnRequest } from './own-request.ts';
export { createPermits } from './permits.ts';
export { type ApprovalRequest, type Approvals, createApprovals } from './requests.ts';
export { approvalRoutes } from './routes.ts';
