/** Statements in the formats of providers, with invented figures. */

export interface OpenAiUsage {
  readonly day: string;
  readonly model: string;
  readonly project?: string;
  readonly key?: string;
  readonly input: number;
  readonly cached?: number;
  readonly output: number;
}

export interface OpenAiCost {
  readonly day: string;
  readonly item: string;
  readonly project?: string;
  readonly usd: number | string;
}

/** Pages of OpenAI's costs and usage, one of each. */
export function openAiPages(costs: readonly OpenAiCost[], usage: readonly OpenAiUsage[]): object[] {
  return [
    openAiPage(
      costs.map(({ day, item, project = null, usd }) => ({
        day,
        result: {
          object: 'organization.costs.result',
          amount: { value: usd, currency: 'usd' },
          line_item: item,
          project_id: project,
          organization_id: 'org-invented',
        },
      })),
    ),
    openAiPage(
      usage.map(({ day, model, project = null, key = null, input, cached = 0, output }) => ({
        day,
        result: {
          object: 'organization.usage.completions.result',
          input_tokens: input,
          output_tokens: output,
          input_cached_tokens: cached,
          input_audio_tokens: 0,
          output_audio_tokens: 0,
          num_model_requests: 1,
          project_id: project,
          user_id: null,
          api_key_id: key,
          model,
          batch: false,
        },
      })),
    ),
  ];
}

function openAiPage(items: readonly { readonly day: string; readonly result: object }[]): object {
  const days = [...new Set(items.map(({ day }) => day))].sort();
  return {
    object: 'page',
    data: days.map((day) => ({
      object: 'bucket',
      start_time: Date.parse(day) / 1_000,
      end_time: Date.parse(day) / 1_000 + 86_400,
      results: items.filter((item) => item.day === day).map(({ result }) => result),
    })),
    has_more: false,
    next_page: null,
  };
}

/** A page of one of OpenAI's other usage reports, with one result. */
export function openAiUsagePage(day: string, report: string, result: object): object {
  return openAiPage([{ day, result: { object: `organization.usage.${report}.result`, ...result } }]);
}

/** One bucket of Anthropic's cost report and one of its usage report. Amounts are in cents. */
export function anthropicPages(day: string): object[] {
  const bucket = (results: readonly object[]) => ({
    data: [
      {
        starting_at: `${day}T00:00:00Z`,
        ending_at: new Date(Date.parse(day) + 86_400_000).toISOString(),
        results,
      },
    ],
    has_more: false,
    next_page: null,
  });
  const cost = (token_type: string | null, amount: string, more: object = {}) => ({
    currency: 'USD',
    amount,
    workspace_id: 'wrkspc_invented',
    description: `Claude Sonnet 4 Usage - ${token_type}`,
    cost_type: 'tokens',
    context_window: '0-200k',
    model: 'claude-sonnet-4-20250514',
    service_tier: 'standard',
    token_type,
    ...more,
  });
  return [
    bucket([
      cost('uncached_input_tokens', '300'),
      cost('cache_read_input_tokens', '15'),
      cost('cache_creation.ephemeral_5m_input_tokens', '75'),
      cost('output_tokens', '750.5'),
      cost(null, '20', { model: null, cost_type: 'web_search', description: 'Web Search Usage' }),
    ]),
    bucket([
      {
        uncached_input_tokens: 1_000_000,
        cache_creation: { ephemeral_5m_input_tokens: 200_000, ephemeral_1h_input_tokens: 0 },
        cache_read_input_tokens: 500_000,
        output_tokens: 500_000,
        server_tool_use: { web_search_requests: 20 },
        api_key_id: 'apikey_invented',
        workspace_id: 'wrkspc_invented',
        model: 'claude-sonnet-4-20250514',
        service_tier: 'standard',
        context_window: '0-200k',
      },
    ]),
  ];
}

export const focusColumns = [
  'BilledCost',
  'BillingCurrency',
  'ChargeCategory',
  'ChargeDescription',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ProviderName',
  'SkuId',
  'SkuMeter',
  'SubAccountId',
];

/** A line of a FOCUS file: half a million input tokens, in the order of `focusColumns`. */
export function focusRow(changes: Readonly<Record<string, string>> = {}): string[] {
  const cells: Record<string, string> = {
    BilledCost: '1.25',
    BillingCurrency: 'USD',
    ChargeCategory: 'Usage',
    ChargeDescription: 'Tokens, "standard"',
    ChargePeriodStart: '2026-11-01T00:00:00Z',
    ChargePeriodEnd: '2026-11-02T00:00:00Z',
    ConsumedQuantity: '0.5',
    ConsumedUnit: '1M Tokens',
    ProviderName: 'OpenAI',
    SkuId: 'gpt-4o',
    SkuMeter: 'Input Tokens',
    SubAccountId: 'proj_a',
    ...changes,
  };
  return focusColumns.map((name) => cells[name] ?? '');
}

export function focusCsv(
  rows: readonly (readonly string[])[],
  columns: readonly string[] = focusColumns,
): string {
  return [columns, ...rows].map((cells) => cells.map(quoted).join(',')).join('\r\n');
}

function quoted(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** A statement of a billed dollar that no run recorded. */
export function statementBody(usd: number | string = 1): { pages: object[] } {
  const day = '2026-11-10';
  return {
    pages: openAiPages(
      [{ day, item: 'gpt-4o, input', usd }],
      [{ day, model: 'gpt-4o', input: 400_000, output: 0 }],
    ),
  };
}
