/** The tabs of the gateway pages. */
import { tabBar } from '../../components.ts';
import type { Markup } from '../../html.ts';

export const gatewayPath = '/console/gateway';
export const callsPath = `${gatewayPath}/calls`;
export const developersPath = `${gatewayPath}/developers`;
export const newKeyPath = `${gatewayPath}/keys/new`;

const tabs = [
  [gatewayPath, 'Connections'],
  [callsPath, 'Live calls'],
  [developersPath, 'Spend by developer'],
] as const;

export function gatewayTabs(current: (typeof tabs)[number][0]): Markup {
  return tabBar('Gateway', tabs, current);
}
