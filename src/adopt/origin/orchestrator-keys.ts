/**
 * What keys of orchestrator’s configuration file are here. `regent adopt --orchestrator` and the table of
 * docs/guide/from-orchestrator.md are made of this. `taken`: the adoption has it then.
 */
export interface KeysMeaning {
  readonly keys: readonly string[]
  readonly here: string
  readonly kind: 'taken' | 'instead' | 'none'
}

const of = (kind: KeysMeaning['kind'], here: string, keys: string): KeysMeaning => ({
  ...{ kind, here },
  keys: keys.split(/\s+/),
})

export const orchestratorKeys: readonly KeysMeaning[] = [
  of(
    'taken',
    '`mysql` of the adoption: the account that looks at the servers',
    'MySQLTopologyUser MySQLTopologyPassword MySQLTopologyCredentialsConfigFile',
  ),
  of('taken', '`mysql.caFile`: sessions go over TLS, and the server must prove itself', 'MySQLTopologySSLCAFile'),
  of('taken', 'servers are looked for from the first of these where `--from` is not given', 'DiscoverySeeds'),
  of('taken', 'port of `--from` and of DiscoverySeeds where none stands there', 'DefaultInstancePort'),
  of(
    'taken',
    '`hosts.promotion: never` for servers that match; `policies` in the spec of a managed cluster',
    'PromotionIgnoreHostnameFilters',
  ),
  of(
    'taken',
    '`failover.automatic`: false where the list is empty. Clusters that are only watched are never recovered automatically',
    'RecoverMasterClusterFilters',
  ),
  of('taken', '`maxLagSeconds`', 'ReasonableReplicationLagSeconds'),
  of(
    'taken',
    '`--orchestrator-listen`; :port is this machine alone, where orchestrator listened on all addresses',
    'ListenAddress',
  ),
  of(
    'taken',
    '`--orchestrator-login-file`, for the method basic',
    'AuthenticationMethod HTTPAuthUser HTTPAuthPassword',
  ),
  of('taken', '`--orchestrator-read-only`', 'ReadOnly'),

  of(
    'instead',
    '`--orchestrator-hosts`: servers are called by the address at which they are reached, or by the name of the instance',
    'HostnameResolveMethod MySQLHostnameResolveMethod ExpiryHostnameResolvesMinutes RejectHostnameResolvePattern SkipBinlogServerUnresolveCheck',
  ),
  of(
    'instead',
    'records lie in the store of the manager, and notes of watched clusters in its state folder',
    'BackendDB SQLite3DataFile MySQLOrchestratorHost MySQLOrchestratorPort MySQLOrchestratorDatabase ' +
      'MySQLOrchestratorUser MySQLOrchestratorPassword MySQLOrchestratorCredentialsConfigFile ' +
      'MySQLOrchestratorMaxPoolConnections MySQLOrchestratorSSLPrivateKeyFile MySQLOrchestratorSSLCertFile ' +
      'MySQLOrchestratorSSLCAFile MySQLOrchestratorSSLSkipVerify MySQLOrchestratorUseMutualTLS ' +
      'MySQLOrchestratorReadTimeoutSeconds MySQLOrchestratorRejectReadOnly SkipOrchestratorDatabaseUpdate ' +
      'PanicIfDifferentDatabaseDeploy',
  ),
  of(
    'instead',
    'managers of a managed cluster choose their leader in its store; one manager watches',
    'RaftEnabled RaftBind RaftAdvertise RaftDataDir DefaultRaftPort RaftNodes ExpectFailureAnalysisConcensus HTTPAdvertise',
  ),
  of(
    'instead',
    'each watched server is looked at once a second; agents of managed ones stream what they see',
    'InstancePollSeconds ReasonableInstanceCheckSeconds DiscoveryMaxConcurrency DiscoveryQueueCapacity ' +
      'DiscoveryQueueMaxStatisticsSize DiscoveryCollectionRetentionSeconds InstanceWriteBufferSize ' +
      'BufferInstanceWrites InstanceFlushIntervalMilliseconds DeadInstancePollSecondsMultiplyFactor ' +
      'DeadInstancePollSecondsMax DeadInstanceDiscoveryMaxConcurrency MySQLConnectTimeoutSeconds ' +
      'MySQLDiscoveryReadTimeoutSeconds MySQLTopologyReadTimeoutSeconds MySQLConnectionLifetimeSeconds',
  ),
  of(
    'instead',
    'servers are found once, by `--from` or `discover`, and watched until somebody says otherwise',
    'DiscoverByShowSlaveHosts UnseenInstanceForgetHours DiscoveryIgnoreReplicaHostnameFilters ' +
      'DiscoveryIgnoreMasterHostnameFilters DiscoveryIgnoreHostnameFilters ' +
      'DiscoveryIgnoreReplicationUsernameFilters SkipMaxScaleCheck',
  ),
  of(
    'instead',
    '`policies` with `promotion: never` in the spec, or downtime',
    'RecoveryIgnoreHostnameFilters ProblemIgnoreHostnameFilters',
  ),
  of(
    'instead',
    'recover, called by a person, moves the replicas of an intermediate master',
    'RecoverIntermediateMasterClusterFilters PostponeSlaveRecoveryOnLagMinutes PostponeReplicaRecoveryOnLagMinutes',
  ),
  of(
    'instead',
    '`policies` in the spec, `hosts.promotion` of the adoption, or register-candidate',
    'DetectPromotionRuleQuery CandidateInstanceExpireMinutes',
  ),
  of(
    'instead',
    '`failover.budget` in the spec: how many failovers may follow each other',
    'RecoveryPeriodBlockMinutes RecoveryPeriodBlockSeconds FailureDetectionPeriodBlockMinutes',
  ),
  of(
    'instead',
    'a new primary has applied everything that it holds before it opens',
    'FailMasterPromotionOnLagMinutes FailMasterPromotionIfSQLThreadNotUpToDate DelayMasterPromotionIfSQLThreadNotUpToDate',
  ),
  of(
    'instead',
    'a server that was lost comes back as a replica by itself, and is seeded again where its data differ',
    'MasterFailoverLostInstancesDowntimeMinutes DetachLostSlavesAfterMasterFailover ' +
      'DetachLostReplicasAfterMasterFailover MasterFailoverDetachSlaveMasterHost ' +
      'MasterFailoverDetachReplicaMasterHost',
  ),
  of(
    'instead',
    'always so',
    'ApplyMySQLPromotionAfterMasterFailover UseSuperReadOnly RecoverNonWriteableMaster CoMasterRecoveryMustPromoteOtherCoMaster VerifyReplicationFilters',
  ),
  of(
    'instead',
    '`acks` and `durability` in the spec',
    'RecoverLockedSemiSyncMaster EnforceExactSemiSyncReplicas DetectSemiSyncEnforcedQuery ReasonableLockedSemiSyncMasterSeconds',
  ),
  of(
    'instead',
    'a heartbeat of the agent; of watched servers what they say themselves',
    'SlaveLagQuery ReplicationLagQuery',
  ),
  of(
    'instead',
    '`replication` of the adoption: the account by which a server is made to follow another one',
    'ReplicationCredentialsQuery',
  ),
  of(
    'instead',
    'the name of the cluster, or set-cluster-alias',
    'DetectClusterAliasQuery ClusterNameToAlias DetectInstanceAliasQuery',
  ),
  of(
    'instead',
    '`hooks` in the spec of a managed cluster: [hooks.md](hooks.md#from-orchestrator)',
    'OnFailureDetectionProcesses PreGracefulTakeoverProcesses PreFailoverProcesses PostFailoverProcesses ' +
      'PostUnsuccessfulFailoverProcesses PostMasterFailoverProcesses PostIntermediateMasterFailoverProcesses ' +
      'PostGracefulTakeoverProcesses PostTakeMasterProcesses ProcessesShellCommand',
  ),
  of(
    'instead',
    '20 s, as orchestrator has it unless told otherwise; one server after the other is moved',
    'ReasonableMaintenanceReplicationLagSeconds InstanceBulkOperationsWaitTimeoutSeconds MaxConcurrentReplicaOperations',
  ),
  of('instead', 'pools hold until they are submitted again', 'InstancePoolExpiryMinutes SupportFuzzyPoolHostnames'),
  of(
    'instead',
    'the log of the manager, and `regent recoveries`',
    'AuditLogFile AuditToSyslog AuditToBackendDB AuditPurgeDays EnableSyslog Debug SnapshotTopologiesIntervalHours',
  ),
  of(
    'instead',
    '`/metrics` for Prometheus',
    'GraphiteAddr GraphitePath GraphiteConvertHostnameDotsToUnderscores GraphitePollSeconds StatsdServer',
  ),
  of(
    'instead',
    '[clients.md](clients.md#find-the-primary) tells how clients find the primary; submit-masters-to-kv-stores prints keys and values',
    'KVClusterMasterPrefix ConsulAddress ConsulScheme ConsulAclToken ConsulCrossDataCenterDistribution ConsulKVStoreProvider ConsulMaxKVsPerTransaction ZkAddress',
  ),
  of('instead', 'a cluster-osc-replicas that lists all replicas that are well', 'OSCIgnoreHostnameFilters'),

  of(
    'none',
    'certificates of clients are not shown to servers, and a server without the right one is refused',
    'MySQLTopologySSLPrivateKeyFile MySQLTopologySSLCertFile MySQLTopologySSLSkipVerify MySQLTopologyUseMutualTLS MySQLTopologyUseMixedTLS TLSCacheTTLFactor',
  ),
  of(
    'none',
    'data centers and regions are not known',
    'DataCenterPattern RegionPattern PhysicalEnvironmentPattern DetectDataCenterQuery DetectRegionQuery ' +
      'DetectPhysicalEnvironmentQuery PreventCrossDataCenterMasterFailover PreventCrossRegionMasterFailover ' +
      'DetectClusterDomainQuery',
  ),
  of(
    'none',
    'every managed server has GTIDs; watched ones without GTIDs are moved by places in binlogs, one step at a time',
    'AutoPseudoGTID PseudoGTIDPattern PseudoGTIDPatternIsFixedSubstring PseudoGTIDMonotonicHint ' +
      'DetectPseudoGTIDQuery BinlogEventsChunkSize SkipBinlogEventsContaining ReduceReplicationAnalysisCount',
  ),
  of(
    'none',
    'agents are Regent’s own',
    'AgentsServerPort ServeAgentsHttp AgentsUseSSL AgentsUseMutualTLS AgentSSLSkipVerify ' +
      'AgentSSLPrivateKeyFile AgentSSLCertFile AgentSSLCAFile AgentSSLValidOUs AgentPollMinutes ' +
      'UnseenAgentForgetHours StaleSeedFailMinutes SeedAcceptableBytesDiff SeedWaitSecondsBeforeSend',
  ),
  of(
    'none',
    'the interface speaks HTTP on a port; put a proxy with TLS before that',
    'ListenSocket UseSSL UseMutualTLS SSLSkipVerify SSLPrivateKeyFile SSLCertFile SSLCAFile SSLValidOUs URLPrefix',
  ),
  of(
    'none',
    'one login may do everything, and --orchestrator-read-only nothing',
    'OAuthClientId OAuthClientSecret OAuthScopes AuthUserHeader PowerAuthUsers PowerAuthGroups AccessTokenUseExpirySeconds AccessTokenExpiryMinutes',
  ),
  of(
    'none',
    'there is no page of orchestrator',
    'RemoveTextFromHostnameDisplay WebMessage StatusEndpoint StatusOUVerify PrependMessagesWithOrcIdentity',
  ),
  of('none', 'a replica of an older series never follows a newer server', 'LowerReplicaVersionAllowed'),
]

/** What is never printed. */
export const secretKeys: ReadonlySet<string> = new Set([
  'MySQLTopologyPassword',
  'MySQLOrchestratorPassword',
  'HTTPAuthPassword',
  'OAuthClientSecret',
  'ConsulAclToken',
])

export function meaningOfKey(key: string): KeysMeaning | undefined {
  return orchestratorKeys.find(({ keys }) => keys.includes(key))
}
