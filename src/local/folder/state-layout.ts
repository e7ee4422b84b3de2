import { join, resolve } from 'node:path'
import { homedir } from 'node:os'

/** Where everything of one local cluster lies below its folder. */
export interface StateLayout {
  readonly dir: string
  readonly cluster: string
  readonly spec: string
  readonly secrets: string
  readonly apiToken: string
  readonly agentToken: string
  readonly accountSecret: string
  readonly clientPassword: string
  readonly adminPassword: string
  readonly instances: string
  /** Archives of a cluster that was given back, by instance: no purge removes them. */
  readonly archives: string
  readonly logs: string
  readonly run: string
  readonly control: string
  readonly pids: string
  readonly stopped: string
  readonly routes: string
  readonly records: string
  /** What the owner of adopted servers had each start of theirs find, by instance. */
  readonly persistedBefore: string
  /** How semi-synchronous replication was set on them, by instance. */
  readonly semiSyncBefore: string
}

/** The layout of a cluster's folder; `dir` is absolute. */
export function layoutOf(dir: string): StateLayout {
  const secrets = join(dir, 'secrets')
  const run = join(dir, 'run')
  return {
    dir,
    cluster: join(dir, 'cluster.json'),
    spec: join(dir, 'spec.json'),
    secrets,
    apiToken: join(secrets, 'api-token'),
    agentToken: join(secrets, 'agent-token'),
    accountSecret: join(secrets, 'account-secret'),
    clientPassword: join(secrets, 'client-password'),
    adminPassword: join(secrets, 'admin-password'),
    instances: join(dir, 'instances'),
    archives: join(dir, 'archives'),
    logs: join(dir, 'logs'),
    run,
    control: join(run, 'supervisor.sock'),
    pids: join(run, 'pids.json'),
    stopped: join(run, 'stopped'),
    routes: join(dir, 'routes.json'),
    records: join(dir, 'records'),
    persistedBefore: join(dir, 'persisted-before.json'),
    semiSyncBefore: join(dir, 'semi-sync-before.json'),
  }
}

/** What `down --purge` removes of a folder that a person chose with --data: what Regent made, and nothing else. */
export function ownEntries(layout: StateLayout): readonly string[] {
  return [
    layout.instances,
    layout.logs,
    layout.run,
    layout.records,
    layout.secrets,
    layout.routes,
    layout.spec,
    layout.persistedBefore,
    layout.semiSyncBefore,
    layout.cluster,
  ]
}

/** The volume of one instance. */
export function volumeOf(layout: StateLayout, instance: string): string {
  return join(layout.instances, instance)
}

/** On an instance's volume: copies of transactions that may be nowhere else. */
export const archiveFolder = 'archive'

export function archiveOf(layout: StateLayout, instance: string): string {
  return join(volumeOf(layout, instance), archiveFolder)
}

export function agentConfigPath(layout: StateLayout, instance: string): string {
  return join(volumeOf(layout, instance), 'agent.json')
}

/** Configuration and runtime socket of the router's HAProxy. */
export function routerFolder(layout: StateLayout): string {
  return join(layout.run, 'router')
}

/** Where the router says where it leads, and who says so: `{sentence, process: {pid, startTicks}}`. */
export function routerStatePath(layout: StateLayout): string {
  return join(routerFolder(layout), 'state.json')
}

/** Where an agent writes which mysqld is its own: `{pid, startTicks}`. */
export function mysqldPidPath(volume: string): string {
  return join(volume, 'run', 'mysqld.json')
}

export function logPath(layout: StateLayout, process: string): string {
  return join(layout.logs, `${process}.log`)
}

/**
 * The folder that holds every cluster's: REGENT_HOME, else below XDG_STATE_HOME, else ~/.local/state. Absolute, as what
 * runs in the background works in another folder.
 */
export function stateHome(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env['REGENT_HOME']) return resolve(env['REGENT_HOME'])
  // The XDG specification says to ignore a relative path.
  const xdg = env['XDG_STATE_HOME']
  return join(xdg?.startsWith('/') ? xdg : join(homedir(), '.local', 'state'), 'regent')
}
