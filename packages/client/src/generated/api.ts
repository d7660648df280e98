// biome-ignore-all format: written by scripts/generate.ts
// biome-ignore-all assist/source/organizeImports: written by scripts/generate.ts
/** The operations of the API, by operation id. Generated from the OpenAPI document: do not edit, run `npm run generate`. */
import type { ListRequest, RequestOptions } from '../request-options.ts';
import type {
  AdjustRun,
  AppliedConfiguration,
  Approval,
  ApprovalSummary,
  ApprovalSummaryList,
  ApproveApproval,
  ApproveRaiseRequest,
  AuditCheckpoint,
  AuditCheckpointList,
  AuditEntry,
  AuditEntryList,
  AuditSigningKey,
  AuditVerification,
  BenchmarkParticipation,
  Budget,
  BudgetList,
  BulkResult,
  CapacityForecast,
  CapacityScenario,
  CapacityScenarioList,
  ChainBudget,
  ChangeBudget,
  ChangeCapacityScenario,
  ChangeConnection,
  ChangeCreditPack,
  ChangeCustomerLimit,
  ChangeEmailSubscription,
  ChangeKey,
  ChangeMember,
  ChangeOrg,
  ChangeOwnOrg,
  ChangePolicy,
  ChangeSafetyDetector,
  ChangeWebhook,
  Cohort,
  CohortFigures,
  CohortList,
  CompleteRun,
  Configuration,
  ConfigurationPlan,
  Connection,
  ConnectionList,
  ConsoleLink,
  CreateBudget,
  CreateCapacityScenario,
  CreateCohort,
  CreateConnection,
  CreateCreditPack,
  CreateCustomerLimit,
  CreateEmailSubscription,
  CreateEval,
  CreateOrg,
  CreatePlan,
  CreatePolicy,
  CreatePriceUpdate,
  CreateRaise,
  CreateRaiseRequest,
  CreateRun,
  CreateRuns,
  CreateSafetyDetector,
  CreateSsoTest,
  CreateStatement,
  CreateSupportGrant,
  CreateWebhook,
  CreditPack,
  CreditPackList,
  Customer,
  CustomerErasure,
  CustomerErasureList,
  CustomerLimit,
  CustomerLimitList,
  CustomerList,
  Decision,
  DecisionRequest,
  DeprecationUsage,
  DeprecationUsageList,
  EmailSubscription,
  EmailSubscriptionDelivery,
  EmailSubscriptionDeliveryList,
  EmailSubscriptionList,
  ErrorCodeList,
  Eval,
  EvalList,
  EvaluatePolicy,
  EventTypeList,
  ExportedConfiguration,
  ExtendHold,
  ForecastList,
  Gateway,
  GatewayCall,
  GatewayCallList,
  Hold,
  HoldList,
  IncreaseHold,
  Installation,
  InviteMember,
  IpAllowList,
  Key,
  KeyList,
  KeyRule,
  KeyWithSecret,
  LedgerReconciliation,
  Limit,
  LimitList,
  LimitValue,
  LimitValueList,
  LimitWithHistory,
  LinearForecast,
  MakeConsoleLink,
  Member,
  MemberList,
  MemberWithSignInLink,
  MintKey,
  MintOperatorKey,
  Model,
  ModelList,
  ModelPrice,
  ModelPriceHistory,
  ModelPriceList,
  ModelResolution,
  Org,
  OrgList,
  OrgPlan,
  OrgPrice,
  OrgPriceHistory,
  OrgPriceList,
  OrgRateLimits,
  OrgSummary,
  OrgSummaryList,
  OrgWebhookSecret,
  Plan,
  PlanList,
  PlatformRetentionPolicy,
  Policy,
  PolicyEvaluation,
  PolicyList,
  PolicySimulation,
  PolicyVariableList,
  PolicyVersion,
  PolicyVersionList,
  Prepaid,
  PrepaidTopUp,
  PrepaidTopUpList,
  PriceChange,
  PriceChangeList,
  PriceUpdate,
  PutBenchmarkParticipation,
  PutChainBudget,
  PutGateway,
  PutKeyRule,
  PutModelPrice,
  PutOrgIpAllowList,
  PutOrgPlan,
  PutOrgPrepaid,
  PutOrgPrice,
  PutOrgRateLimit,
  PutPlatformRetention,
  PutResidency,
  PutRetentionPolicy,
  PutRoutingPolicy,
  PutSpendCap,
  PutSso,
  PutSupportAccessSetting,
  PutUnpricedPolicy,
  Raise,
  RaiseList,
  RaiseRequest,
  RaiseRequestList,
  RateLimitPolicy,
  RateLimitPolicyList,
  RedeliverWebhook,
  Refusal,
  RefusalList,
  RefusalWithTraceIds,
  Residency,
  RetentionPolicy,
  RetentionRun,
  RetentionRunList,
  RotateConnection,
  RotateKey,
  RotateSecret,
  RotateWebhookSigning,
  RotatedWebhookSigning,
  RoutingDecision,
  RoutingPolicy,
  RoutingRequest,
  Run,
  RunAdjustment,
  RunAdjustmentEntry,
  RunAdjustmentEntryList,
  RunList,
  SafetyDetector,
  SafetyDetectorList,
  SafetyTest,
  SecretRotation,
  Session,
  SessionList,
  SimulatePolicy,
  Snapshot,
  SpendCap,
  Sso,
  SsoEndpoints,
  SsoTest,
  SsoTestWithUrl,
  Statement,
  StatementComparison,
  StatementDifference,
  StatementList,
  SupportAccess,
  SupportAccessList,
  SupportAccessSettings,
  SupportGrant,
  SupportGrantList,
  SupportSession,
  SuspendOrg,
  TestEmails,
  TestSafetyDetector,
  ToolSignIn,
  ToolSignInList,
  TopUpOrgPrepaid,
  UnpricedModel,
  UnpricedModelList,
  UnpricedModelTotal,
  UnpricedModelTotalList,
  UnpricedPolicy,
  Usage,
  UsageRow,
  UsageSeries,
  UsageValues,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookPayload,
  WebhookRedelivery,
  WebhookSigning,
  WebhookWithSecret,
} from './types.ts';

export interface Api {
  readonly orgs: {
    /** Create an organization. */
    create(body: CreateOrg, options?: RequestOptions): Promise<Org>;
    /** List organizations. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly status?: 'active' | 'suspended';
      readonly slug?: string;
      readonly name?: string;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Org, OrgList>;
    /** Get an organization as an operator. */
    read(orgId: string, options?: RequestOptions): Promise<Org>;
    /** Update an organization as an operator. */
    change(orgId: string, body: ChangeOrg, options?: RequestOptions): Promise<Org>;
    /** Remove an organization and all its data. */
    remove(orgId: string, options?: RequestOptions): Promise<void>;
    /** Suspend an organization. */
    suspend(orgId: string, body?: SuspendOrg, options?: RequestOptions): Promise<Org>;
    /** Reinstate a suspended organization. */
    reinstate(orgId: string, options?: RequestOptions): Promise<Org>;
    readonly ipAllowList: {
      /** Clear the IP allow-list of an organization as an operator. */
      clear(orgId: string, options?: RequestOptions): Promise<void>;
    };
    readonly summaries: {
      /** List organizations with their spend, balance and activity. */
      list(query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'spend_usd' | '-spend_usd' | 'runs' | '-runs' | 'used_percent' | '-used_percent' | 'last_active_at' | '-last_active_at';
        readonly status?: 'active' | 'suspended';
        readonly search?: string;
      }, options?: RequestOptions): ListRequest<OrgSummary, OrgSummaryList>;
    };
    readonly summary: {
      /** Get the spend, balance and activity of an organization. */
      read(orgId: string, options?: RequestOptions): Promise<OrgSummary>;
    };
    readonly keys: {
      /** Create a key in an organization as an operator. */
      mint(orgId: string, body: MintKey, options?: RequestOptions): Promise<KeyWithSecret>;
    };
    readonly prepaid: {
      /** Enable or disable prepaid billing. */
      put(orgId: string, body: PutOrgPrepaid, options?: RequestOptions): Promise<Prepaid>;
      /** Read the prepaid balance of an organization (operator). */
      read(orgId: string, options?: RequestOptions): Promise<Prepaid>;
      /** Top up the prepaid balance of an organization. */
      topUp(orgId: string, body: TopUpOrgPrepaid, options?: RequestOptions): Promise<PrepaidTopUp>;
      readonly topUps: {
        /** List the top-ups of an organization. */
        list(orgId: string, query?: {
          readonly limit?: number;
          readonly cursor?: string;
          readonly sort?: 'created_at' | '-created_at';
          readonly reference?: string;
        }, options?: RequestOptions): ListRequest<PrepaidTopUp, PrepaidTopUpList>;
      };
    };
    readonly plan: {
      /** Assign a plan to an organization, or remove it. */
      put(orgId: string, body: PutOrgPlan, options?: RequestOptions): Promise<OrgPlan>;
      /** Read the plan of an organization (operator). */
      read(orgId: string, options?: RequestOptions): Promise<OrgPlan>;
    };
    readonly rateLimits: {
      /** Set the rate limits of an organization. */
      put(orgId: string, body: PutOrgRateLimit, options?: RequestOptions): Promise<OrgRateLimits>;
      /** Read the rate limits of an organization (operator). */
      read(orgId: string, options?: RequestOptions): Promise<OrgRateLimits>;
    };
    readonly configuration: {
      /** Export the configuration of an organization as an operator. */
      read(orgId: string, options?: RequestOptions): Promise<ExportedConfiguration>;
      /** Plan the configuration of an organization as an operator. */
      plan(body: Configuration, query?: {
        readonly prune?: boolean;
        readonly force?: boolean;
      }, options?: RequestOptions): Promise<ConfigurationPlan>;
      /** Apply the configuration of an organization as an operator. */
      apply(body: Configuration, query?: {
        readonly prune?: boolean;
        readonly force?: boolean;
        readonly plan_digest?: string;
      }, options?: RequestOptions): Promise<AppliedConfiguration>;
    };
  };
  readonly org: {
    /** Get the caller's organization. */
    read(orgId: string, options?: RequestOptions): Promise<Org>;
    /** Update the caller's organization. */
    change(orgId: string, body: ChangeOwnOrg, options?: RequestOptions): Promise<Org>;
    readonly ipAllowList: {
      /** Get the IP allow-list. */
      read(orgId: string, options?: RequestOptions): Promise<IpAllowList>;
      /** Replace the IP allow-list. */
      put(orgId: string, body: PutOrgIpAllowList, options?: RequestOptions): Promise<IpAllowList>;
    };
  };
  readonly residency: {
    /** Get the home region of an organization. */
    read(orgId: string, options?: RequestOptions): Promise<Residency>;
    /** Set the home region of an organization. */
    put(orgId: string, body: PutResidency, options?: RequestOptions): Promise<Residency>;
  };
  readonly support: {
    readonly grants: {
      /** Create a support grant. */
      create(body: CreateSupportGrant, options?: RequestOptions): Promise<SupportGrant>;
      /** List support grants. */
      list(query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at';
        readonly org_id?: string;
        readonly status?: 'pending' | 'active' | 'denied' | 'expired' | 'revoked';
      }, options?: RequestOptions): ListRequest<SupportGrant, SupportGrantList>;
      /** Get a support grant. */
      read(grantId: string, options?: RequestOptions): Promise<SupportGrant>;
      /** Revoke a support grant. */
      revoke(grantId: string, options?: RequestOptions): Promise<void>;
    };
    readonly sessions: {
      /** Open a support session. */
      open(grantId: string, options?: RequestOptions): Promise<SupportSession>;
    };
  };
  readonly supportAccess: {
    /** List support access. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'at' | '-at';
      readonly kind?: 'grant_created' | 'grant_approved' | 'grant_denied' | 'grant_revoked' | 'session_opened' | 'request';
      readonly grant_id?: string;
      readonly session_id?: string;
      readonly actor_id?: string;
      readonly outcome?: 'allowed' | 'denied';
    }, options?: RequestOptions): ListRequest<SupportAccess, SupportAccessList>;
    readonly settings: {
      /** Get the support access settings. */
      read(orgId: string, options?: RequestOptions): Promise<SupportAccessSettings>;
      /** Update the support access settings. */
      put(orgId: string, body: PutSupportAccessSetting, options?: RequestOptions): Promise<SupportAccessSettings>;
    };
    readonly grants: {
      /** List support grants for your organization. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at';
        readonly status?: 'pending' | 'active' | 'denied' | 'expired' | 'revoked';
      }, options?: RequestOptions): ListRequest<SupportGrant, SupportGrantList>;
      /** Approve a support grant. */
      approve(orgId: string, grantId: string, options?: RequestOptions): Promise<SupportGrant>;
      /** Deny a support grant. */
      deny(orgId: string, grantId: string, options?: RequestOptions): Promise<SupportGrant>;
      /** Revoke a support grant for your organization. */
      revoke(orgId: string, grantId: string, options?: RequestOptions): Promise<void>;
    };
  };
  readonly keys: {
    /** Create a key. */
    mint(orgId: string, body: MintKey, options?: RequestOptions): Promise<KeyWithSecret>;
    /** List keys. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly name?: string;
      readonly role?: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
      readonly status?: 'active' | 'not_yet_valid' | 'expired' | 'revoked';
      readonly unused_days?: number;
      readonly member_id?: string;
      readonly team?: string;
      readonly department?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly customer_id?: string;
      readonly project?: string;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Key, KeyList>;
    /** Get a key. */
    read(orgId: string, keyId: string, options?: RequestOptions): Promise<Key>;
    /** Change the name or the attribution of a key. */
    change(orgId: string, keyId: string, body: ChangeKey, options?: RequestOptions): Promise<Key>;
    /** Revoke a key. */
    revoke(orgId: string, keyId: string, options?: RequestOptions): Promise<void>;
    /** Rotate a key. */
    rotate(orgId: string, keyId: string, body?: RotateKey, options?: RequestOptions): Promise<KeyWithSecret>;
  };
  readonly operatorKeys: {
    /** Create an operator key. */
    mint(body: MintOperatorKey, options?: RequestOptions): Promise<KeyWithSecret>;
    /** List operator keys. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly name?: string;
      readonly role?: 'viewer' | 'member' | 'admin' | 'owner' | 'operator';
      readonly status?: 'active' | 'not_yet_valid' | 'expired' | 'revoked';
      readonly unused_days?: number;
      readonly member_id?: string;
      readonly team?: string;
      readonly department?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly customer_id?: string;
      readonly project?: string;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Key, KeyList>;
    /** Get an operator key. */
    read(keyId: string, options?: RequestOptions): Promise<Key>;
    /** Revoke an operator key. */
    revoke(keyId: string, options?: RequestOptions): Promise<void>;
    /** Rotate an operator key. */
    rotate(keyId: string, body?: RotateKey, options?: RequestOptions): Promise<KeyWithSecret>;
  };
  readonly keyRules: {
    /** Get the rules for keys. */
    read(orgId: string, options?: RequestOptions): Promise<KeyRule>;
    /** Set the rules for keys. */
    put(orgId: string, body: PutKeyRule, options?: RequestOptions): Promise<KeyRule>;
  };
  readonly members: {
    /** Invite a member. */
    invite(orgId: string, body: InviteMember, options?: RequestOptions): Promise<MemberWithSignInLink>;
    /** List members. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly status?: 'invited' | 'active' | 'removed';
      readonly role?: 'viewer' | 'member' | 'admin' | 'owner';
      readonly email?: string;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Member, MemberList>;
    /** Get a member. */
    read(orgId: string, memberId: string, options?: RequestOptions): Promise<Member>;
    /** Update the role or name of a member. */
    change(orgId: string, memberId: string, body: ChangeMember, options?: RequestOptions): Promise<Member>;
    /** Remove a member or cancel an invitation. */
    remove(orgId: string, memberId: string, options?: RequestOptions): Promise<void>;
    /** Create a new sign-in link for a member. */
    signInLink(orgId: string, memberId: string, options?: RequestOptions): Promise<MemberWithSignInLink>;
  };
  readonly sso: {
    /** Set up single sign-on. */
    put(orgId: string, body: PutSso, options?: RequestOptions): Promise<Sso>;
    /** Get the single sign-on settings. */
    read(orgId: string, options?: RequestOptions): Promise<Sso>;
    /** Remove single sign-on. */
    remove(orgId: string, options?: RequestOptions): Promise<void>;
    /** Get the URLs to register with an identity provider. */
    endpoints(orgId: string, options?: RequestOptions): Promise<SsoEndpoints>;
    readonly tests: {
      /** Test single sign-on. */
      create(orgId: string, body?: CreateSsoTest, options?: RequestOptions): Promise<SsoTestWithUrl>;
      /** Get a test of single sign-on. */
      read(orgId: string, testId: string, options?: RequestOptions): Promise<SsoTest>;
    };
  };
  readonly sessions: {
    /** List console sessions. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'last_seen_at' | '-last_seen_at';
      readonly status?: 'active' | 'expired' | 'revoked';
      readonly method?: 'key' | 'link' | 'invitation' | 'oidc' | 'saml';
      readonly key_id?: string;
      readonly member_id?: string;
    }, options?: RequestOptions): ListRequest<Session, SessionList>;
    /** End a console session. */
    revoke(orgId: string, sessionId: string, options?: RequestOptions): Promise<void>;
  };
  readonly operatorSessions: {
    /** List console sessions of operators. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'last_seen_at' | '-last_seen_at';
      readonly status?: 'active' | 'expired' | 'revoked';
      readonly method?: 'key' | 'link' | 'invitation' | 'oidc' | 'saml';
      readonly key_id?: string;
      readonly member_id?: string;
    }, options?: RequestOptions): ListRequest<Session, SessionList>;
    /** End a console session of an operator. */
    revoke(sessionId: string, options?: RequestOptions): Promise<void>;
  };
  readonly toolSignIns: {
    /** List sign-ins of coding tools. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly status?: 'active' | 'expired' | 'ended';
      readonly member_id?: string;
    }, options?: RequestOptions): ListRequest<ToolSignIn, ToolSignInList>;
    /** End a sign-in of a coding tool. */
    revoke(orgId: string, toolSignInId: string, options?: RequestOptions): Promise<void>;
  };
  readonly consoleLinks: {
    /** Create a one-time sign-in link for the console. */
    make(body?: MakeConsoleLink, options?: RequestOptions): Promise<ConsoleLink>;
  };
  readonly budgets: {
    /** Create a budget. */
    create(orgId: string, body: CreateBudget, options?: RequestOptions): Promise<Budget>;
    /** List budgets. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly scope_kind?: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | string;
      readonly scope_id?: string;
      readonly period?: 'day' | 'week' | 'month' | 'quarter' | 'year';
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Budget, BudgetList>;
    /** Read a budget. */
    read(orgId: string, budgetId: string, options?: RequestOptions): Promise<Budget>;
    /** Change a budget. */
    change(orgId: string, budgetId: string, body: ChangeBudget, options?: RequestOptions): Promise<Budget>;
    /** Delete a budget. */
    delete(orgId: string, budgetId: string, options?: RequestOptions): Promise<void>;
    readonly raises: {
      /** Raise a budget for a while. */
      create(orgId: string, budgetId: string, body: CreateRaise, options?: RequestOptions): Promise<Raise>;
      /** List the raises of a budget. */
      list(orgId: string, budgetId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at' | 'until' | '-until';
      }, options?: RequestOptions): ListRequest<Raise, RaiseList>;
      /** End a raise of a budget. */
      end(orgId: string, budgetId: string, raiseId: string, options?: RequestOptions): Promise<void>;
    };
  };
  readonly spendCap: {
    /** Set the daily spend cap. */
    put(orgId: string, body: PutSpendCap, options?: RequestOptions): Promise<SpendCap>;
    /** Read the daily spend cap. */
    read(orgId: string, options?: RequestOptions): Promise<SpendCap>;
    /** Delete the daily spend cap. */
    delete(orgId: string, options?: RequestOptions): Promise<void>;
    readonly raises: {
      /** Raise the daily spend cap for a while. */
      create(orgId: string, body: CreateRaise, options?: RequestOptions): Promise<Raise>;
      /** List the raises of the daily spend cap. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at' | 'until' | '-until';
      }, options?: RequestOptions): ListRequest<Raise, RaiseList>;
      /** End a raise of the daily spend cap. */
      end(orgId: string, capRaiseId: string, options?: RequestOptions): Promise<void>;
    };
  };
  readonly customerLimits: {
    readonly raises: {
      /** Raise a customer limit for a while. */
      create(orgId: string, limitId: string, body: CreateRaise, options?: RequestOptions): Promise<Raise>;
      /** List the raises of a customer limit. */
      list(orgId: string, limitId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at' | 'until' | '-until';
      }, options?: RequestOptions): ListRequest<Raise, RaiseList>;
      /** End a raise of a customer limit. */
      end(orgId: string, limitId: string, limitRaiseId: string, options?: RequestOptions): Promise<void>;
    };
    /** Create a customer limit. */
    create(orgId: string, body: CreateCustomerLimit, options?: RequestOptions): Promise<CustomerLimit>;
    /** List customer limits. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly customer_id?: string;
      readonly period?: 'day' | 'week' | 'month' | 'quarter' | 'year';
    }, options?: RequestOptions): ListRequest<CustomerLimit, CustomerLimitList>;
    /** Read a customer limit. */
    read(orgId: string, limitId: string, options?: RequestOptions): Promise<CustomerLimit>;
    /** Change a customer limit. */
    change(orgId: string, limitId: string, body: ChangeCustomerLimit, options?: RequestOptions): Promise<CustomerLimit>;
    /** Delete a customer limit. */
    delete(orgId: string, limitId: string, options?: RequestOptions): Promise<void>;
  };
  readonly raiseRequests: {
    /** Ask for a raise of a limit. */
    create(orgId: string, body: CreateRaiseRequest, options?: RequestOptions): Promise<RaiseRequest>;
    /** List requests for raises. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'requested_at' | '-requested_at';
      readonly state?: 'pending' | 'approved' | 'denied' | 'lapsed';
      readonly limit_id?: string;
    }, options?: RequestOptions): ListRequest<RaiseRequest, RaiseRequestList>;
    /** Read a request for a raise. */
    read(orgId: string, requestId: string, options?: RequestOptions): Promise<RaiseRequest>;
    /** Approve a request for a raise. */
    approve(orgId: string, requestId: string, body?: ApproveRaiseRequest, options?: RequestOptions): Promise<RaiseRequest>;
    /** Deny a request for a raise. */
    deny(orgId: string, requestId: string, body?: SuspendOrg, options?: RequestOptions): Promise<RaiseRequest>;
  };
  readonly chainBudget: {
    /** Set the chain budget. */
    put(orgId: string, body: PutChainBudget, options?: RequestOptions): Promise<ChainBudget>;
    /** Read the chain budget. */
    read(orgId: string, options?: RequestOptions): Promise<ChainBudget>;
    /** Delete the chain budget. */
    delete(orgId: string, options?: RequestOptions): Promise<void>;
  };
  readonly customers: {
    /** List customers. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'customer_id' | '-customer_id' | 'period.cost_usd' | '-period.cost_usd' | 'period.runs' | '-period.runs' | 'period.last_active_on' | '-period.last_active_on';
      readonly customer_id?: string;
      readonly from?: string;
      readonly to?: string;
      readonly trend?: boolean;
    }, options?: RequestOptions): ListRequest<Customer, CustomerList>;
    /** Erase an end customer. */
    erase(orgId: string, customerId: string, options?: RequestOptions): Promise<void>;
    readonly erasures: {
      /** List erased customers. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'requested_at' | '-requested_at';
      }, options?: RequestOptions): ListRequest<CustomerErasure, CustomerErasureList>;
    };
  };
  readonly creditPacks: {
    /** Create a credit pack. */
    create(orgId: string, body: CreateCreditPack, options?: RequestOptions): Promise<CreditPack>;
    /** List credit packs. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly customer_id?: string;
      readonly status?: 'live' | 'expired';
    }, options?: RequestOptions): ListRequest<CreditPack, CreditPackList>;
    /** Read a credit pack. */
    read(orgId: string, packId: string, options?: RequestOptions): Promise<CreditPack>;
    /** Change a credit pack. */
    change(orgId: string, packId: string, body: ChangeCreditPack, options?: RequestOptions): Promise<CreditPack>;
    /** Void a credit pack. */
    void(orgId: string, packId: string, options?: RequestOptions): Promise<void>;
  };
  readonly prepaid: {
    /** Read the organization's prepaid balance. */
    read(orgId: string, options?: RequestOptions): Promise<Prepaid>;
  };
  readonly plans: {
    /** Create a plan. */
    create(body: CreatePlan, options?: RequestOptions): Promise<Plan>;
    /** List plans. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly name?: string;
    }, options?: RequestOptions): ListRequest<Plan, PlanList>;
    /** Read a plan. */
    read(planId: string, options?: RequestOptions): Promise<Plan>;
  };
  readonly plan: {
    /** Read the organization's plan. */
    read(orgId: string, options?: RequestOptions): Promise<OrgPlan>;
  };
  readonly rateLimitPolicies: {
    /** List the organization's rate-limit policies. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly kind?: 'rate' | 'quota';
      readonly unit?: 'usd' | 'tokens' | 'requests' | 'concurrent';
    }, options?: RequestOptions): ListRequest<RateLimitPolicy, RateLimitPolicyList>;
  };
  readonly models: {
    readonly prices: {
      /** Set the price, the capabilities and other names of a model. */
      put(model: string, body: PutModelPrice, options?: RequestOptions): Promise<ModelPrice>;
      /** Read the price and the capabilities of a model. */
      read(model: string, options?: RequestOptions): Promise<ModelPriceHistory>;
      /** List model prices. */
      list(query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'model' | '-model' | 'effective_from' | '-effective_from' | 'created_at' | '-created_at';
        readonly model?: string;
        readonly provider?: string;
      }, options?: RequestOptions): ListRequest<ModelPrice, ModelPriceList>;
    };
    readonly orgPrices: {
      /** Set the price of a model for an organization. */
      put(orgId: string, model: string, body: PutOrgPrice, options?: RequestOptions): Promise<OrgPrice>;
      /** Read the custom price of a model for an organization. */
      read(orgId: string, model: string, options?: RequestOptions): Promise<OrgPriceHistory>;
      /** Remove the custom price of a model for an organization. */
      remove(orgId: string, model: string, options?: RequestOptions): Promise<void>;
      /** List the custom prices of an organization. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'model' | '-model' | 'effective_from' | '-effective_from' | 'created_at' | '-created_at';
        readonly model?: string;
      }, options?: RequestOptions): ListRequest<OrgPrice, OrgPriceList>;
    };
    /** List models with your current prices and their capabilities. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'model' | '-model' | 'provider' | '-provider';
      readonly model?: string;
      readonly provider?: string;
      readonly capability?: string;
      readonly region?: string;
    }, options?: RequestOptions): ListRequest<Model, ModelList>;
    /** Explain which price applies to a model name. */
    resolve(query: {
      readonly model: string;
      readonly provider?: string;
      readonly region?: string;
    }, options?: RequestOptions): Promise<ModelResolution>;
  };
  readonly priceUpdates: {
    /** Update model prices from a price list. */
    create(body: CreatePriceUpdate, options?: RequestOptions): Promise<PriceUpdate>;
  };
  readonly priceChanges: {
    /** List price changes that waited for an operator. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'model' | '-model';
      readonly status?: 'pending' | 'approved' | 'rejected' | 'superseded';
      readonly model?: string;
    }, options?: RequestOptions): ListRequest<PriceChange, PriceChangeList>;
    /** Get a price change. */
    read(changeId: string, options?: RequestOptions): Promise<PriceChange>;
    /** Approve a price change. */
    approve(changeId: string, body?: SuspendOrg, options?: RequestOptions): Promise<PriceChange>;
    /** Reject a price change. */
    reject(changeId: string, body?: SuspendOrg, options?: RequestOptions): Promise<PriceChange>;
  };
  readonly unpricedPolicy: {
    /** Get the policy on models without a price. */
    read(orgId: string, options?: RequestOptions): Promise<UnpricedPolicy>;
    /** Set the policy on models without a price. */
    put(orgId: string, body: PutUnpricedPolicy, options?: RequestOptions): Promise<UnpricedPolicy>;
  };
  readonly unpricedModels: {
    /** List models that were used without a price. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'last_used_at' | '-last_used_at' | 'runs' | '-runs' | 'model' | '-model';
      readonly model?: string;
      readonly used_since?: string;
    }, options?: RequestOptions): ListRequest<UnpricedModel, UnpricedModelList>;
    /** List models that organizations used without a price. */
    totals(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'model' | '-model';
      readonly model?: string;
    }, options?: RequestOptions): ListRequest<UnpricedModelTotal, UnpricedModelTotalList>;
  };
  readonly runs: {
    /** Create a run. */
    create(body: CreateRun, options?: RequestOptions): Promise<Run>;
    /** List runs. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'charged_at' | '-charged_at' | 'cost_usd' | '-cost_usd' | 'total_tokens' | '-total_tokens' | 'latency_ms' | '-latency_ms';
      readonly key_id?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly action?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly department?: string;
      readonly team?: string;
      readonly customer_id?: string;
      readonly chain_id?: string;
      readonly status?: 'running' | 'succeeded' | 'failed' | 'cancelled';
      readonly member_id?: string;
      readonly project?: string;
      readonly parent_run_id?: string;
      readonly external_id?: string;
      readonly decision_id?: string;
      readonly tag?: string;
      readonly without?: string;
      readonly flagged?: boolean;
      readonly flagged_by?: string;
      readonly mark?: 'over_hold' | 'late' | 'degraded' | 'backfill' | 'unpriced' | 'usage_missing' | 'unsettled' | 'usage_estimated' | 'truncated';
      readonly unpriced?: boolean;
      readonly from?: string;
      readonly to?: string;
      readonly count?: boolean;
    }, options?: RequestOptions): ListRequest<Run, RunList>;
    /** Create runs in bulk. */
    createBulk(body: CreateRuns, query?: {
      readonly enforcement?: 'block' | 'record';
      readonly on_error?: 'reject' | 'skip';
    }, options?: RequestOptions): Promise<BulkResult>;
    /** Read a run. */
    read(runId: string, options?: RequestOptions): Promise<Run>;
    /** Complete a running run. */
    complete(runId: string, body?: CompleteRun, options?: RequestOptions): Promise<Run>;
    /** Reprice a run without a price. */
    reprice(runId: string, options?: RequestOptions): Promise<RunAdjustment>;
    /** Adjust the cost of a run. */
    adjust(runId: string, body: AdjustRun, options?: RequestOptions): Promise<RunAdjustment>;
    readonly adjustments: {
      /** List adjustments of a run. */
      list(runId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at';
      }, options?: RequestOptions): ListRequest<RunAdjustmentEntry, RunAdjustmentEntryList>;
    };
  };
  readonly policies: {
    /** List the variables of policy expressions. */
    variables(options?: RequestOptions): Promise<PolicyVariableList>;
    /** Create a policy rule. */
    create(orgId: string, body: CreatePolicy, options?: RequestOptions): Promise<Policy>;
    /** List policy rules. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'priority' | '-priority' | 'created_at' | '-created_at';
      readonly effect?: 'allow' | 'block' | 'require_approval';
      readonly enabled?: boolean;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Policy, PolicyList>;
    /** Read a policy rule. */
    read(orgId: string, policyId: string, options?: RequestOptions): Promise<Policy>;
    /** Change a policy rule. */
    change(orgId: string, policyId: string, body: ChangePolicy, options?: RequestOptions): Promise<Policy>;
    /** Delete a policy rule. */
    delete(orgId: string, policyId: string, options?: RequestOptions): Promise<void>;
    /** List the versions of a policy rule. */
    versions(orgId: string, policyId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'version' | '-version';
    }, options?: RequestOptions): ListRequest<PolicyVersion, PolicyVersionList>;
    /** Evaluate the rules for a request. */
    evaluate(orgId: string, body: EvaluatePolicy, options?: RequestOptions): Promise<PolicyEvaluation>;
    /** Replay the latest runs against draft rules. */
    simulate(orgId: string, body: SimulatePolicy, options?: RequestOptions): Promise<PolicySimulation>;
  };
  readonly approvals: {
    /** List approvals. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'requested_at' | '-requested_at';
      readonly state?: 'pending' | 'approved' | 'denied' | 'expired' | 'used';
      readonly rule_id?: string;
      readonly key_id?: string;
      readonly model?: string;
      readonly action?: string;
    }, options?: RequestOptions): ListRequest<ApprovalSummary, ApprovalSummaryList>;
    /** Read an approval. */
    read(orgId: string, approvalId: string, options?: RequestOptions): Promise<Approval>;
    /** Approve a request. */
    approve(orgId: string, approvalId: string, body?: ApproveApproval, options?: RequestOptions): Promise<ApprovalSummary>;
    /** Deny a request. */
    deny(orgId: string, approvalId: string, body?: SuspendOrg, options?: RequestOptions): Promise<ApprovalSummary>;
  };
  readonly safetyDetectors: {
    /** Create a safety detector. */
    create(orgId: string, body: CreateSafetyDetector, options?: RequestOptions): Promise<SafetyDetector>;
    /** List safety detectors. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'name' | '-name';
      readonly kind?: 'built_in' | 'regex' | 'words';
      readonly enabled?: boolean;
      readonly action?: 'block' | 'flag';
    }, options?: RequestOptions): ListRequest<SafetyDetector, SafetyDetectorList>;
    /** Read a safety detector. */
    read(orgId: string, detectorId: string, options?: RequestOptions): Promise<SafetyDetector>;
    /** Change a safety detector. */
    change(orgId: string, detectorId: string, body: ChangeSafetyDetector, options?: RequestOptions): Promise<SafetyDetector>;
    /** Delete a custom safety detector. */
    delete(orgId: string, detectorId: string, options?: RequestOptions): Promise<void>;
    /** Test the safety detectors. */
    test(orgId: string, body: TestSafetyDetector, options?: RequestOptions): Promise<SafetyTest>;
  };
  readonly refusals: {
    /** List recently denied requests. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'last_at' | '-last_at';
      readonly code?: 'rate_limited' | 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error' | 'content_safety_blocked' | 'plan_limit_exceeded' | 'quota_exhausted' | 'spend_cap_exceeded' | 'budget_exceeded' | 'chain_budget_exceeded' | 'credits_exhausted' | 'no_model_passes_eval';
      readonly operation?: string;
      readonly key_id?: string;
      readonly model?: string;
      readonly action?: string;
      readonly workflow?: string;
      readonly customer_id?: string;
      readonly limit_id?: string;
      readonly rule_id?: string;
      readonly trace_id?: string;
      readonly from?: string;
      readonly to?: string;
    }, options?: RequestOptions): ListRequest<Refusal, RefusalList>;
    /** Read a denied request. */
    read(orgId: string, refusalId: string, options?: RequestOptions): Promise<RefusalWithTraceIds>;
  };
  readonly evals: {
    /** Record an eval result. */
    create(orgId: string, body: CreateEval, options?: RequestOptions): Promise<Eval>;
    /** List eval results. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'ran_at' | '-ran_at' | 'created_at' | '-created_at' | 'score' | '-score';
      readonly suite?: string;
      readonly model?: string;
      readonly source?: string;
      readonly newest?: boolean;
    }, options?: RequestOptions): ListRequest<Eval, EvalList>;
    /** Read an eval result. */
    read(orgId: string, evalId: string, options?: RequestOptions): Promise<Eval>;
    /** Delete an eval result. */
    delete(orgId: string, evalId: string, options?: RequestOptions): Promise<void>;
  };
  readonly routingPolicy: {
    /** Set the routing policy. */
    put(orgId: string, body: PutRoutingPolicy, options?: RequestOptions): Promise<RoutingPolicy>;
    /** Read the routing policy. */
    read(orgId: string, options?: RequestOptions): Promise<RoutingPolicy>;
    /** Delete the routing policy. */
    delete(orgId: string, options?: RequestOptions): Promise<void>;
  };
  readonly routing: {
    /** Choose a model for a request. */
    decide(body: RoutingRequest, options?: RequestOptions): Promise<RoutingDecision>;
  };
  readonly usage: {
    /** Sum up usage. */
    read(orgId: string, query?: {
      readonly group_by?: string;
      readonly from?: string;
      readonly to?: string;
      readonly key_id?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly department?: string;
      readonly team?: string;
      readonly customer_id?: string;
      readonly status?: 'running' | 'succeeded' | 'failed' | 'cancelled';
      readonly member_id?: string;
      readonly project?: string;
      readonly tag?: string;
      readonly without?: string;
      readonly kind?: string;
      readonly compare?: 'previous';
      readonly limit?: number;
      readonly cursor?: string;
    }, options?: RequestOptions): ListRequest<UsageRow, Usage>;
    /** Sum up the caller's own usage. */
    own(orgId: string, query?: {
      readonly group_by?: string;
      readonly from?: string;
      readonly to?: string;
      readonly limit?: number;
      readonly cursor?: string;
    }, options?: RequestOptions): ListRequest<UsageRow, Usage>;
    /** Read usage over time. */
    series(orgId: string, query?: {
      readonly interval?: 'hour' | 'day' | 'month';
      readonly group_by?: string;
      readonly top?: number;
      readonly latency?: boolean;
      readonly from?: string;
      readonly to?: string;
      readonly key_id?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly department?: string;
      readonly team?: string;
      readonly customer_id?: string;
      readonly status?: 'running' | 'succeeded' | 'failed' | 'cancelled';
      readonly member_id?: string;
      readonly project?: string;
      readonly tag?: string;
      readonly without?: string;
      readonly kind?: string;
    }, options?: RequestOptions): Promise<UsageSeries>;
    /** List the values in use. */
    values(orgId: string, query?: {
      readonly from?: string;
      readonly to?: string;
      readonly limit?: number;
    }, options?: RequestOptions): Promise<UsageValues>;
    /** Export cost and usage in FOCUS. */
    focus(orgId: string, query?: {
      readonly group_by?: string;
      readonly from?: string;
      readonly to?: string;
      readonly key_id?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly department?: string;
      readonly team?: string;
      readonly customer_id?: string;
      readonly status?: 'running' | 'succeeded' | 'failed' | 'cancelled';
      readonly member_id?: string;
      readonly project?: string;
      readonly tag?: string;
      readonly without?: string;
      readonly format?: 'csv' | 'parquet';
      readonly version?: '1.2' | '1.4';
    }, options?: RequestOptions): Promise<Response>;
  };
  readonly statements: {
    /** Upload a provider's statement. */
    create(orgId: string, body: CreateStatement, options?: RequestOptions): Promise<Statement>;
    /** List statements. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly provider?: string;
    }, options?: RequestOptions): ListRequest<Statement, StatementList>;
    /** Get a statement. */
    read(orgId: string, statementId: string, options?: RequestOptions): Promise<Statement>;
    /** Delete a statement. */
    delete(orgId: string, statementId: string, options?: RequestOptions): Promise<void>;
    /** Compare a statement with the ledger. */
    compare(orgId: string, statementId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'day' | '-day';
      readonly cause?: 'missing' | 'unsettled' | 'late' | 'price' | 'time_zone' | 'unknown' | 'rounding';
    }, options?: RequestOptions): ListRequest<StatementDifference, StatementComparison>;
    /** Post the differences of a statement. */
    reconcile(orgId: string, statementId: string, options?: RequestOptions): Promise<Statement>;
  };
  readonly benchmarkParticipation: {
    /** Join or leave benchmarks. */
    put(orgId: string, body: PutBenchmarkParticipation, options?: RequestOptions): Promise<BenchmarkParticipation>;
    /** Get the benchmark participation of the organization. */
    read(orgId: string, options?: RequestOptions): Promise<BenchmarkParticipation>;
  };
  readonly benchmarks: {
    /** Create a cohort. */
    createCohort(body: CreateCohort, options?: RequestOptions): Promise<Cohort>;
    /** List cohorts. */
    listCohorts(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
    }, options?: RequestOptions): ListRequest<Cohort, CohortList>;
    /** Compare the organization with a cohort. */
    readCohort(cohortId: string, options?: RequestOptions): Promise<CohortFigures>;
    /** Delete a cohort. */
    deleteCohort(cohortId: string, options?: RequestOptions): Promise<void>;
  };
  readonly connections: {
    /** Create a connection to a provider. */
    create(orgId: string, body: CreateConnection, options?: RequestOptions): Promise<Connection>;
    /** List connections. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name' | 'priority' | '-priority';
      readonly kind?: 'openai' | 'anthropic' | 'openai_compatible' | 'azure_openai' | 'gemini' | 'vertex' | 'bedrock';
      readonly name?: string;
    }, options?: RequestOptions): ListRequest<Connection, ConnectionList>;
    /** Get a connection. */
    read(orgId: string, connectionId: string, options?: RequestOptions): Promise<Connection>;
    /** Update a connection. */
    change(orgId: string, connectionId: string, body: ChangeConnection, options?: RequestOptions): Promise<Connection>;
    /** Delete a connection. */
    delete(orgId: string, connectionId: string, options?: RequestOptions): Promise<void>;
    /** Rotate the provider's key. */
    rotate(orgId: string, connectionId: string, body: RotateConnection, options?: RequestOptions): Promise<Connection>;
  };
  readonly gateway: {
    /** Get the settings of the gateway. */
    read(orgId: string, options?: RequestOptions): Promise<Gateway>;
    /** Set the settings of the gateway. */
    put(orgId: string, body: PutGateway, options?: RequestOptions): Promise<Gateway>;
    readonly calls: {
      /** List calls in progress. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'started_at' | '-started_at';
        readonly key_id?: string;
        readonly member_id?: string;
        readonly state?: 'waiting' | 'streaming' | 'draining' | 'settling';
      }, options?: RequestOptions): ListRequest<GatewayCall, GatewayCallList>;
    };
  };
  readonly webhooks: {
    /** Create a webhook subscription. */
    create(orgId: string, body: CreateWebhook, options?: RequestOptions): Promise<WebhookWithSecret>;
    /** List webhook subscriptions. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly status?: 'active' | 'paused' | 'disabled';
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<Webhook, WebhookList>;
    /** Get a webhook subscription. */
    read(orgId: string, subId: string, options?: RequestOptions): Promise<Webhook>;
    /** Update a webhook subscription. */
    change(orgId: string, subId: string, body: ChangeWebhook, options?: RequestOptions): Promise<Webhook>;
    /** Delete a webhook subscription. */
    delete(orgId: string, subId: string, options?: RequestOptions): Promise<void>;
    /** Pause a webhook subscription. */
    pause(orgId: string, subId: string, options?: RequestOptions): Promise<Webhook>;
    /** Resume a paused or disabled webhook subscription. */
    resume(orgId: string, subId: string, options?: RequestOptions): Promise<Webhook>;
    readonly signing: {
      /** Get the signing settings of a subscription. */
      read(orgId: string, subId: string, options?: RequestOptions): Promise<WebhookSigning>;
      /** Create or rotate the secret of a subscription. */
      rotate(orgId: string, subId: string, body?: RotateWebhookSigning, options?: RequestOptions): Promise<RotatedWebhookSigning>;
    };
    /** Send a test event. */
    test(orgId: string, subId: string, options?: RequestOptions): Promise<WebhookDelivery>;
    readonly deliveries: {
      /** List the deliveries of a subscription. */
      list(orgId: string, subId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at';
        readonly state?: 'waiting' | 'delivered' | 'failed';
        readonly event_type?: string;
        readonly event_id?: string;
        readonly from?: string;
        readonly to?: string;
      }, options?: RequestOptions): ListRequest<WebhookDelivery, WebhookDeliveryList>;
      /** Get a delivery. */
      read(orgId: string, subId: string, deliveryId: string, options?: RequestOptions): Promise<WebhookDelivery>;
      /** Get the payload of a delivery. */
      payload(orgId: string, subId: string, deliveryId: string, options?: RequestOptions): Promise<WebhookPayload>;
      /** Redeliver an event. */
      redeliver(orgId: string, subId: string, deliveryId: string, options?: RequestOptions): Promise<WebhookDelivery>;
    };
    /** Redeliver the events of a time range. */
    redeliver(orgId: string, subId: string, body: RedeliverWebhook, options?: RequestOptions): Promise<WebhookRedelivery>;
    readonly orgSecret: {
      /** Get the organization's webhook secret. @deprecated */
      read(orgId: string, options?: RequestOptions): Promise<OrgWebhookSecret>;
      /** Rotate the organization's webhook secret. @deprecated */
      rotate(orgId: string, options?: RequestOptions): Promise<OrgWebhookSecret>;
    };
  };
  readonly emailSubscriptions: {
    /** Create an e-mail subscription. */
    create(orgId: string, body: CreateEmailSubscription, options?: RequestOptions): Promise<EmailSubscription>;
    /** List e-mail subscriptions. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly enabled?: boolean;
      readonly search?: string;
    }, options?: RequestOptions): ListRequest<EmailSubscription, EmailSubscriptionList>;
    /** Get an e-mail subscription. */
    read(orgId: string, emailSubscriptionId: string, options?: RequestOptions): Promise<EmailSubscription>;
    /** Update an e-mail subscription. */
    change(orgId: string, emailSubscriptionId: string, body: ChangeEmailSubscription, options?: RequestOptions): Promise<EmailSubscription>;
    /** Delete an e-mail subscription. */
    delete(orgId: string, emailSubscriptionId: string, options?: RequestOptions): Promise<void>;
    /** Send a test e-mail. */
    test(orgId: string, emailSubscriptionId: string, options?: RequestOptions): Promise<TestEmails>;
    readonly deliveries: {
      /** List the deliveries of an e-mail subscription. */
      list(orgId: string, emailSubscriptionId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'created_at' | '-created_at';
        readonly state?: 'waiting' | 'delivered' | 'failed';
        readonly event_type?: string;
        readonly event_id?: string;
        readonly from?: string;
        readonly to?: string;
      }, options?: RequestOptions): ListRequest<EmailSubscriptionDelivery, EmailSubscriptionDeliveryList>;
      /** Send an e-mail again. */
      redeliver(orgId: string, emailSubscriptionId: string, emailDeliveryId: string, options?: RequestOptions): Promise<EmailSubscriptionDelivery>;
    };
  };
  readonly retentionPolicy: {
    /** Get the retention policy. */
    read(orgId: string, options?: RequestOptions): Promise<RetentionPolicy>;
    /** Set the retention policy. */
    put(orgId: string, body: PutRetentionPolicy, options?: RequestOptions): Promise<RetentionPolicy>;
    readonly runs: {
      /** List deletions under the retention policy. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'started_at' | '-started_at';
      }, options?: RequestOptions): ListRequest<RetentionRun, RetentionRunList>;
    };
  };
  readonly platformRetention: {
    /** Get the retention policy of the operators' audit log. */
    read(options?: RequestOptions): Promise<PlatformRetentionPolicy>;
    /** Set the retention policy of the operators' audit log. */
    put(body: PutPlatformRetention, options?: RequestOptions): Promise<PlatformRetentionPolicy>;
  };
  readonly configuration: {
    /** Export the configuration of the organization. */
    read(orgId: string, options?: RequestOptions): Promise<ExportedConfiguration>;
    /** Apply a configuration. */
    apply(orgId: string, body: Configuration, query?: {
      readonly prune?: boolean;
      readonly force?: boolean;
      readonly plan_digest?: string;
    }, options?: RequestOptions): Promise<AppliedConfiguration>;
    /** Plan a configuration. */
    plan(orgId: string, body: Configuration, query?: {
      readonly prune?: boolean;
      readonly force?: boolean;
    }, options?: RequestOptions): Promise<ConfigurationPlan>;
  };
  readonly snapshots: {
    /** Create a snapshot of the embedded database. */
    create(options?: RequestOptions): Promise<Snapshot>;
  };
  readonly secrets: {
    /** Encrypt stored secrets with the first key of SVC_SECRETS_KEY. */
    rotate(body?: RotateSecret, options?: RequestOptions): Promise<SecretRotation>;
  };
  readonly audit: {
    /** List the actions and rejected attempts in the audit log. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'seq' | '-seq';
      readonly actor?: string;
      readonly actor_kind?: string;
      readonly action?: string;
      readonly target?: string;
      readonly target_kind?: string;
      readonly outcome?: 'success' | 'denied' | 'failure';
      readonly code?: string;
      readonly trace_id?: string;
      readonly from?: string;
      readonly to?: string;
    }, options?: RequestOptions): ListRequest<AuditEntry, AuditEntryList>;
    /** Verify the integrity of the audit log. */
    verify(orgId: string, query?: {
      readonly checkpoint?: string;
    }, options?: RequestOptions): Promise<AuditVerification>;
    readonly checkpoints: {
      /** List the signed checkpoints of the audit log. */
      list(orgId: string, query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'seq' | '-seq';
      }, options?: RequestOptions): ListRequest<AuditCheckpoint, AuditCheckpointList>;
      /** Create a signed checkpoint of the audit log. */
      create(orgId: string, options?: RequestOptions): Promise<AuditCheckpoint>;
    };
    /** Export the audit log to a SIEM. */
    export(orgId: string, query: {
      readonly from: string;
      readonly to: string;
      readonly format?: 'ndjson' | 'cef' | 'ocsf';
      readonly cursor?: number;
      readonly checkpoints?: boolean;
    }, options?: RequestOptions): Promise<Response>;
    /** Get the current and previous public keys that sign audit checkpoints. */
    signingKey(options?: RequestOptions): Promise<AuditSigningKey>;
  };
  readonly platformAudit: {
    /** List the actions and rejected attempts in the operators' audit log. */
    list(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'seq' | '-seq';
      readonly actor?: string;
      readonly actor_kind?: string;
      readonly action?: string;
      readonly target?: string;
      readonly target_kind?: string;
      readonly outcome?: 'success' | 'denied' | 'failure';
      readonly code?: string;
      readonly trace_id?: string;
      readonly from?: string;
      readonly to?: string;
    }, options?: RequestOptions): ListRequest<AuditEntry, AuditEntryList>;
    /** Verify the integrity of the operators' audit log. */
    verify(query?: {
      readonly checkpoint?: string;
    }, options?: RequestOptions): Promise<AuditVerification>;
    readonly checkpoints: {
      /** List the signed checkpoints of the operators' audit log. */
      list(query?: {
        readonly limit?: number;
        readonly cursor?: string;
        readonly sort?: 'seq' | '-seq';
      }, options?: RequestOptions): ListRequest<AuditCheckpoint, AuditCheckpointList>;
      /** Create a signed checkpoint of the operators' audit log. */
      create(options?: RequestOptions): Promise<AuditCheckpoint>;
    };
    /** Export the operators' audit log to a SIEM. */
    export(query: {
      readonly from: string;
      readonly to: string;
      readonly format?: 'ndjson' | 'cef' | 'ocsf';
      readonly cursor?: number;
      readonly checkpoints?: boolean;
    }, options?: RequestOptions): Promise<Response>;
    readonly signingKey: {
      /** Rotate the key that signs audit checkpoints. */
      rotate(options?: RequestOptions): Promise<AuditSigningKey>;
    };
  };
  readonly forecasts: {
    /** Forecast spend, runs or tokens, and when limits run out. */
    list(orgId: string, query?: {
      readonly measure?: 'spend' | 'runs' | 'tokens';
      readonly key_id?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly workflow?: string;
      readonly deployment?: string;
      readonly department?: string;
      readonly team?: string;
      readonly customer_id?: string;
      readonly member_id?: string;
      readonly project?: string;
      readonly kind?: string;
      readonly group_by?: 'key_id' | 'model' | 'provider' | 'workflow' | 'deployment' | 'department' | 'team' | 'customer_id' | 'member_id' | 'project' | 'kind';
      readonly limit?: number;
      readonly horizon_days?: number;
      readonly history_days?: number;
    }, options?: RequestOptions): Promise<ForecastList>;
    /** Project the return of a deployment by team count. @deprecated */
    linear(query: {
      readonly deployment: string;
      readonly teams: number;
    }, options?: RequestOptions): Promise<LinearForecast>;
    /** Project daily spend and volume, and the return by team count. */
    capacity(query?: {
      readonly deployment?: string;
      readonly horizon_days?: number;
      readonly scenario?: string;
    }, options?: RequestOptions): Promise<CapacityForecast>;
  };
  readonly capacityScenarios: {
    /** Create a capacity scenario. */
    create(orgId: string, body: CreateCapacityScenario, options?: RequestOptions): Promise<CapacityScenario>;
    /** List capacity scenarios. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at' | 'name' | '-name';
      readonly name?: string;
    }, options?: RequestOptions): ListRequest<CapacityScenario, CapacityScenarioList>;
    /** Get a capacity scenario. */
    read(orgId: string, scenarioId: string, options?: RequestOptions): Promise<CapacityScenario>;
    /** Update a capacity scenario. */
    change(orgId: string, scenarioId: string, body: ChangeCapacityScenario, options?: RequestOptions): Promise<CapacityScenario>;
    /** Delete a capacity scenario. */
    delete(orgId: string, scenarioId: string, options?: RequestOptions): Promise<void>;
  };
  readonly limits: {
    /** List all limits with their usage. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'created_at' | '-created_at';
      readonly kind?: 'rate' | 'plan_runs' | 'plan_tokens' | 'prepaid' | 'quota' | 'spend_cap' | 'budget' | 'customer' | 'chain_cost' | 'chain_depth' | 'chain_tokens' | 'credits';
      readonly customer_id?: string;
      readonly scope_kind?: 'org' | 'workflow' | 'deployment' | 'department' | 'key' | 'member' | 'team' | 'model' | 'provider' | 'project' | 'customer' | string;
      readonly scope_id?: string;
      readonly search?: string;
      readonly state?: 'ok' | 'near' | 'exhausted';
    }, options?: RequestOptions): ListRequest<Limit, LimitList>;
    /** Read a limit with its usage, past windows and alerts. */
    read(orgId: string, limitId: string, query?: {
      readonly windows?: number;
    }, options?: RequestOptions): Promise<LimitWithHistory>;
    /** List the usage of a limit by value. */
    values(orgId: string, limitId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'settled' | '-settled';
    }, options?: RequestOptions): ListRequest<LimitValue, LimitValueList>;
  };
  readonly holds: {
    /** List open holds. */
    list(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'admitted_at' | '-admitted_at';
    }, options?: RequestOptions): ListRequest<Hold, HoldList>;
    /** Extend a hold. */
    extend(orgId: string, decisionId: string, body: ExtendHold, options?: RequestOptions): Promise<Hold>;
    /** Increase a hold. */
    increase(orgId: string, decisionId: string, body: IncreaseHold, options?: RequestOptions): Promise<Hold>;
    /** Void a hold. */
    void(orgId: string, decisionId: string, options?: RequestOptions): Promise<void>;
  };
  readonly decisions: {
    /** Extend a hold. */
    extend(decisionId: string, body: ExtendHold, options?: RequestOptions): Promise<Hold>;
    /** Increase a hold. */
    increase(decisionId: string, body: IncreaseHold, options?: RequestOptions): Promise<Hold>;
    /** Void a hold. */
    void(decisionId: string, options?: RequestOptions): Promise<void>;
  };
  readonly ledger: {
    /** Reconcile the ledger. */
    reconciliation(orgId: string, options?: RequestOptions): Promise<LedgerReconciliation>;
  };
  readonly edge: {
    /** Decide whether a model call is allowed. */
    decide(body: DecisionRequest, options?: RequestOptions): Promise<Decision>;
  };
  readonly installation: {
    /** Get the state of the installation. */
    read(options?: RequestOptions): Promise<Installation>;
  };
  readonly meta: {
    /** List deprecated routes. */
    deprecations(options?: RequestOptions): Promise<readonly {
  readonly route: string;
  readonly since: string;
  readonly sunset: string;
  readonly replacement?: string;
  readonly documentation: string;
}[]>;
    /** List all error codes. */
    errors(options?: RequestOptions): Promise<ErrorCodeList>;
    /** List all event types. */
    events(options?: RequestOptions): Promise<EventTypeList>;
    /** Get the OpenAPI document. */
    openapi(options?: RequestOptions): Promise<Readonly<Record<string, unknown>>>;
  };
  readonly deprecations: {
    /** List callers of deprecated routes. */
    usage(query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'last_called_at' | '-last_called_at' | 'first_called_at' | '-first_called_at' | 'calls' | '-calls';
      readonly route?: string;
      readonly org_id?: string;
    }, options?: RequestOptions): ListRequest<DeprecationUsage, DeprecationUsageList>;
    /** List the organization's keys that call deprecated routes. */
    ownUsage(orgId: string, query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly sort?: 'last_called_at' | '-last_called_at' | 'first_called_at' | '-first_called_at' | 'calls' | '-calls';
      readonly route?: string;
    }, options?: RequestOptions): ListRequest<DeprecationUsage, DeprecationUsageList>;
  };
}
