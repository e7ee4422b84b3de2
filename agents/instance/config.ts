import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { Timings } from '#failover/protocol/timings.ts'

/** What one agent is started with: the content of its configuration file. Paths are absolute. */
export interface AgentConfig {
  readonly version: 1
  readonly cluster: string
  /** How the cluster replicates. */
  readonly mode: ModeName
  readonly instance: string
  /** Address and port mysqld listens on for clients and replicas, and where the agent listens. */
  readonly host: string
  /** Addresses of the other family, where mysqld listens for clients as well. Absent for none. */
  readonly otherHosts?: readonly string[]
  readonly port: number
  /** mysqld's administrative port, on 127.0.0.1-like `host`; outside the kernel's ephemeral range. */
  readonly adminPort: number
  readonly agentPort: number
  /** Where `/live` and `/ready` are answered without TLS, for the kubelet; 0 for nowhere but on `agentPort`. */
  readonly probePort: number
  /**
   * The agent speaks TLS with these certificates, and asks for one of everybody who calls it. Plain HTTP unless given.
   */
  readonly tls?: { readonly certificateFolder: string }
  /**
   * What clients of mysqld are shown instead of the certificate that it makes for itself, and whether they must use
   * TLS.
   */
  readonly clientTls?: { readonly certificateFolder?: string; readonly required: boolean }
  /** Command line that starts mysqld, without options: `["/usr/sbin/mysqld"]`, or a loader with its library path. */
  readonly mysqld: readonly string[]
  /**
   * The folder shared with the launcher in the mysql container (`src/kube/pods/launcher.sh`); '' where the agent starts
   * mysqld itself.
   */
  readonly launcherDir: string
  /** Command line of mysqlbinlog, used to archive errant transactions; empty where it is missing. */
  readonly mysqlbinlog: readonly string[]
  /** Where plugins lie (`semisync_source.so` …); '' for the server's own default. */
  readonly pluginDir: string
  /** `share/mysql` with the error messages; '' for the server's own default. */
  readonly shareDir: string
  /** The instance's volume: `data/`, `agent/`, `run/`, `archive/` are kept below it. */
  readonly volume: string
  /** 0600 files: the bearer token of the cluster's agents, and the secret from which account passwords are derived. */
  readonly tokenFile: string
  readonly accountSecretFile: string
  /** Where the boot id is read; another path for machines that share one kernel. */
  readonly bootIdFile: string
  readonly timings: Partial<Timings>
  readonly lowSpaceBytes: number
  /** See `agents/guard/binlog-keeping.ts`. */
  readonly keepBinlogsSeconds: number
  readonly heldBinlogsBytes: number
  /** See `agents/guard/archive-keeping.ts`. */
  readonly archiveBytes: number
  /** Extra `name=value` server settings; managed ones are refused. */
  readonly serverSettings: Readonly<Record<string, string>>
  /** Names of those among them that Regent does not know, and that a person allows. Absent for none. */
  readonly allowUnclassified?: readonly string[]
  readonly logLevel: string
  /** Serves actions and probes as KubeBlocks' agent does, beside Regent's own routes. Absent for no. */
  readonly lifecycle?: LifecycleConfig
  /** The server is somewhere else, and nothing is installed beside it. Absent where the agent lives beside it. */
  readonly far?: FarConfig
}

/** A server that the agent reaches by SQL over TCP, and by SSH. */
export interface FarConfig {
  /** Where the agent itself listens. */
  readonly agentHost: string
  /** The account of the server that the agent is to use. */
  readonly user: string
  readonly passwordFile: string
  /** PEM of the authority that signed the server's certificate. Absent: no certificate is compared. */
  readonly caFile?: string
  /** Whose answers count: whatever else listens there one day is another server. */
  readonly serverUuid: string
  /** Absent: only SQL reaches that host. */
  readonly ssh?: FarSsh
  /** Command of the host that starts mysqld. */
  readonly start?: string
  readonly places: FarPlaces
}

/** The agent's login at a far server, and whose answers count. */
export interface FarLogin {
  readonly user: string
  /** Asked for at each login. */
  readonly password: () => Promise<string>
  /** As `password`; undefined where no certificate is compared. */
  readonly authority: (() => Promise<string>) | undefined
  readonly identity: ServerIdentity
}

/** Which `server_uuid` a server may have. */
export interface ServerIdentity {
  readonly uuids: readonly string[]
  allows(uuid: string): boolean
}

export interface FarSsh {
  readonly user: string
  readonly port: number
  readonly keyFile: string
  readonly knownHostsFile: string
}

/** Where everything lies on the far host, as its server said. Absolute. */
export interface FarPlaces {
  readonly dataDir: string
  readonly pidFile: string
  readonly binlogIndex: string
  /** Without number. */
  readonly relayLogBase: string
  readonly relayLogIndex: string
  /** '' where messages go elsewhere. */
  readonly errorLog: string
}

/** Exactly one of `tokenFile` and `open` says who may call. */
export interface LifecycleConfig {
  readonly port?: number
  readonly streamingPort?: number
  readonly tokenFile?: string
  readonly open?: boolean
}
